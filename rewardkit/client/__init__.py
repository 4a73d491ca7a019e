"""Synchronous and asynchronous Python clients for `rewardkit serve`, with the methods and types of Scorer.

A request is retried only if the connection failed or the server was overloaded. Retrying is safe, since
scoring changes nothing on the server.
"""

from rewardkit.client.asynchronous import AsyncClient as AsyncClient
from rewardkit.client.sync import Client as Client
