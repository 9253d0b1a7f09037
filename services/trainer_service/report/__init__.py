"""The report of a campaign: one HTML page that holds everything it shows."""
