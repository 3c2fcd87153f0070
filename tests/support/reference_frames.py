"""Any frame of the reference broker's protocol, for property tests."""

from hypothesis import strategies as st

from stacks.reference.frames import (
    Accepted,
    Acknowledge,
    Answer,
    Connect,
    Leave,
    Message,
    Publish,
    Refused,
    Reply,
    Subscribe,
    Unanswered,
)

u32 = st.integers(0, 2**32 - 1)
u64 = st.integers(0, 2**64 - 1)
i32 = st.integers(-(2**31), 2**31 - 1)
text = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
body = st.binary(max_size=300)
frames = st.one_of(
    st.builds(Connect, text),
    st.builds(Subscribe, u32, u32, text, text, st.none() | st.tuples(i32, i32)),
    st.builds(Publish, u32, text, st.none() | i32, body),
    st.builds(Acknowledge, u32, u64, st.booleans()),
    st.builds(Leave, u32),
    st.builds(Accepted, u32),
    st.builds(Refused, u32, text),
    st.builds(Unanswered, u32, text),
    st.builds(Message, u32, u64, st.booleans(), body),
    st.builds(Reply, u32, u64, body),
    st.builds(Answer, u32, body),
)
