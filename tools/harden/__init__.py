"""The campaign: kill, mutate, fill the disk, cut the power, write twice, ask nonsense; count."""
