"""The whole system: settings, and the one place where its parts are put together."""
