"""How many steps a preemption costs, by what the job script does about its saves."""
