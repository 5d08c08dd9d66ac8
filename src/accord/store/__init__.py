"""A small interface to a database: SQLite in a file, or PostgreSQL.

    async with open_store("sqlite:///var/lib/shop/shop.db") as store:
        await store.migrate("shop", Path("migrations"))
        await store.execute("INSERT INTO carts (id, body) VALUES ($1, $2)", id, body)
        rows = await store.fetch("SELECT body FROM carts WHERE id = $1", id)

Its modules:

store          the interface: `Store`, `Transaction`, `Row`, the errors
opening        `open_store`: from a URL to a store
catalog        migrations, numbered .sql files; SQL about the database itself
sqlite         one file, its writer thread, copies of it
sqlite_reader  connections to the file, reads while others write, notifications between processes
postgres       a connection pool, and a connection that listens
postgres_lane  statements, and lanes: transactions that run one after the other
"""

from accord.store.opening import open_store as open_store
from accord.store.store import (
    Row as Row,
    Store as Store,
    StoreError as StoreError,
    Transaction as Transaction,
)
