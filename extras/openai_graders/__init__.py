"""OpenAI's graders as a reward: `grader` reads and runs their JSON, the other files are its parts."""
