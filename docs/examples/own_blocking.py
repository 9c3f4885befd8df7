"""Blocking code for threads and pools: a generator, and a function that returns the whole text."""

import json

import requests


def answer(base_url, prompt):
    request = {"model": "sim", "stream": True, "messages": [{"role": "user", "content": prompt}]}
    with requests.post(base_url + "/v1/chat/completions", json=request, stream=True) as response:
        response.raise_for_status()
        for line in response.iter_lines():
            if line.startswith(b"data: {"):
                yield json.loads(line[6:])["choices"][0]["delta"].get("content") or ""


def whole(base_url, prompt):
    return "".join(answer(base_url, prompt))
