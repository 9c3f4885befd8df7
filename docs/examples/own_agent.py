"""An agent's step of two calls: the first one plans, the second one answers and is what is yielded."""

from own_call import client


async def said(base_url, messages):
    create = client(base_url).chat.completions.create
    async for chunk in await create(model="sim", messages=messages, stream=True):
        yield chunk.choices[0].delta.content or ""


async def step(base_url, prompt):
    messages = [{"role": "user", "content": prompt}]
    plan = "".join([piece async for piece in said(base_url, messages)])
    messages += [{"role": "assistant", "content": plan}, {"role": "user", "content": "Now answer."}]
    async for piece in said(base_url, messages):
        yield piece
