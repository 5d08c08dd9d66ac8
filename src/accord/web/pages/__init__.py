"""The pages themselves, by what they are about."""
