"""A compact PPO trainer that trains with FSDP2, generates with a rollout engine and scores with the Scorer.

Start reading at `loop.py`. Other packages import this one only inside the commands that need it, because
importing torch takes seconds.
"""
