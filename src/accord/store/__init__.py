"""A small database behind one face: SQLite in a file, or PostgreSQL.

    async with open_store("sqlite:///var/lib/shop/shop.db") as store:
        await store.migrate("shop", Path("migrations"))
        await store.execute("INSERT INTO carts (id, body) VALUES ($1, $2)", id, body)
        rows = await store.fetch("SELECT body FROM carts WHERE id = $1", id)

errors       what can go wrong
store        the face: `Store`, `Transaction`, `Row`
opening      `open_store`: which database a URL means
migrations   numbered .sql files, and which of them are to be run
sqlite       one file, and the thread that writes to it
sqlite_reader, sqlite_connection
             those who read it; statements, and what errors are called
wake         how one process wakes another that uses the same file
postgres     a pool of connections, and one that listens
postgres_lane, postgres_transaction
             writers who wait for each other; statements, and what errors are called
"""

from accord.store.errors import StoreError as StoreError
from accord.store.opening import open_store as open_store
from accord.store.store import Row as Row, Store as Store, Transaction as Transaction
