"""What a response says and takes back, for every reward that reads one: rules and lists, no scores."""
