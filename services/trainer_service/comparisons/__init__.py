"""Engineers held against one another: campaigns that differ in nothing else, and what follows from them."""
