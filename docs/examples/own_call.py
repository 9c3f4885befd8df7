from functools import cache

from openai import AsyncOpenAI


@cache
def client(base_url):
    return AsyncOpenAI(base_url=base_url + "/v1", api_key="none", max_retries=0)


async def answer(base_url, prompt):
    messages = [{"role": "user", "content": prompt}]
    chunks = await client(base_url).chat.completions.create(model="sim", messages=messages, stream=True)
    async for chunk in chunks:
        yield chunk.choices[0].delta.content or ""
