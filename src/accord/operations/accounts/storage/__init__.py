"""Tables of accounts: users, access tokens and login sessions."""
