"""Python client of `rewardkit serve`, sync and async, with the Scorer's own methods and types.

Scoring changes nothing on the server, so a request is sent again when the connection failed or the server
had too much to do, and only then.
"""

from rewardkit.client.asynchronous import AsyncClient as AsyncClient
from rewardkit.client.sync import Client as Client
