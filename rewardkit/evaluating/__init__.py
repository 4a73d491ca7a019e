"""`rewardkit.evaluate` and `rewardkit.compare`: from files, tables or datasets to figures.

They call the rooms below: datasets are prepared, responses generated and scored, scored rows read.
"""
