"""Where a kernel runs: vector types for the CPU backend; cards and memory budgets come with the GPU backend."""
