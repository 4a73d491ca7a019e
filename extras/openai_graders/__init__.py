"""OpenAI's graders as a reward. `grader` reads and runs their JSON with the help of the other files."""
