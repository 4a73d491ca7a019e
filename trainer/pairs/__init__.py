"""Training on preferences: reward models (`rewardkit rm`) and preference optimisation (`rewardkit dpo`)."""
