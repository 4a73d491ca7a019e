"""Rarely used policy losses, registered as rows of the table `policy_losses`."""
