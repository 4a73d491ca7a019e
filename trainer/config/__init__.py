"""Every setting of the trainer: typed, with verl's key names; reading and explaining them."""
