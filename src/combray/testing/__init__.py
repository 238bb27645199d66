"""What plug-in authors test against: contracts and doubles."""
