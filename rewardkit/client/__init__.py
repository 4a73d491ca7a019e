"""Synchronous and asynchronous Python clients for `rewardkit serve`, with the methods and types of Scorer.

A request is sent again only if the connection failed or the server was overloaded. This is safe, since
scoring changes nothing on the server.
"""

from rewardkit.client.asynchronous import AsyncClient as AsyncClient
from rewardkit.client.sync import Client as Client
