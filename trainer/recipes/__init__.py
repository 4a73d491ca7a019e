"""YAML recipes, one complete starting point each. A package only so that they are installed with the rest."""
