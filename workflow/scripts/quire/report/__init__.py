"""What a person looks at first: were the samples good, what was found, how fast, was anything lost (last stage)."""
