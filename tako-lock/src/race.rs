//! Two futures, the first one asked first: the order is fixed, so that a simulation repeats.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

pub(crate) enum Race<A, B> {
    First(A),
    Second(B),
}

/// The one that is ready first; `first` when both are. By reference: an engine's futures are large, and moving one
/// costs more than polling it.
pub(crate) async fn race<A: Future, B: Future>(
    mut first: Pin<&mut A>,
    mut second: Pin<&mut B>,
) -> Race<A::Output, B::Output> {
    poll_fn(|context| {
        if let Poll::Ready(output) = first.as_mut().poll(context) {
            return Poll::Ready(Race::First(output));
        }
        second.as_mut().poll(context).map(Race::Second)
    })
    .await
}
