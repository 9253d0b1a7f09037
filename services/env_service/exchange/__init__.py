"""Boards to and from elsewhere: the published JSON Lines, Parquet, and the maps and scenarios of MovingAI."""
