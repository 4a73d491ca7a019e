"""OpenAI's graders as a reward. The module `grader` reads and runs the JSON of a grader."""
