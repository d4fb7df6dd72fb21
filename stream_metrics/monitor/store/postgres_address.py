"""Addresses of PostgreSQL databases: what of one may be shown, and what is added to it."""

from __future__ import annotations

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from stream_metrics.monitor.store.rows import StoreError

__all__ = ["shown_address", "with_defaults"]

DEFAULTS = {
    "target_session_attrs": "read-write",
    "connect_timeout": "5",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
    "application_name": "stream-metrics monitor",
}


def shown_address(path: str) -> str:
    """Return the parts of an address that may be shown: user, host, port and database, never a password.

    ``StoreError`` if the address cannot be parsed.
    """
    try:
        parts = conninfo_to_dict(path)
        ports = str(parts.get("port") or "").split(",")
        known = path.partition("?")[0].count("@") <= 1 and all(not port or port.isdecimal() for port in ports)
    except psycopg.Error:
        known = False
    if not known:  # messages of the client would show what it parsed as port or host
        raise StoreError(
            "Expected an address such as postgresql://user@host:5432/database, with %40 for @ and %3A for : in a "
            "password, but it is none"
        ) from None
    user, host, port = (parts.get(name) for name in ("user", "host", "port"))
    place = f"{f'{user}@' if user else ''}{host or ''}{f':{port}' if port else ''}"
    return f"postgresql://{place}/{parts.get('dbname') or ''}"


def with_defaults(path: str) -> str:
    """Return an address with the parameters of `DEFAULTS` that it does not have."""
    return str(make_conninfo(path, **{k: v for k, v in DEFAULTS.items() if k not in conninfo_to_dict(path)}))
