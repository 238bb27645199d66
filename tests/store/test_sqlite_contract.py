from pathlib import Path

from combray.store import SqliteStore
from combray.store.base import Store
from combray.testing.store_contract import StoreContract


class TestSqliteStore(StoreContract):
    def make_store(self, where: Path) -> Store:
        return SqliteStore(where / "evidence.db")
