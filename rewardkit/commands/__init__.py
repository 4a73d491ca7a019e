"""One file per `rewardkit` command: it parses, calls a room, and prints. No logic lives here."""
