//! Many futures in one task, whatever the runtime.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

/// Polls all futures in turn until each has ended. The answers stand in the order of the futures.
pub(super) async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut racers: Vec<Racer<F>> =
        futures.into_iter().map(|future| Racer::Running(Box::pin(future))).collect();
    let mut turn = 0;
    poll_fn(|context| {
        let count = racers.len();
        // Another one starts each time: who is first in the list must not be first at the store for ever.
        turn += 1;
        let mut is_pending = false;
        for place in 0..count {
            let racer = &mut racers[(place + turn) % count];
            if let Racer::Running(future) = racer {
                match future.as_mut().poll(context) {
                    Poll::Ready(answer) => *racer = Racer::Done(answer),
                    Poll::Pending => is_pending = true,
                }
            }
        }
        if is_pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    racers
        .into_iter()
        .filter_map(|racer| match racer {
            Racer::Done(answer) => Some(answer),
            Racer::Running(_) => None,
        })
        .collect()
}

enum Racer<F: Future> {
    Running(Pin<Box<F>>),
    Done(F::Output),
}

/// Drops `future` where it waits for the `pauses`th time; its answer when it ends before.
pub(super) async fn dropped_at<F: Future>(future: F, pauses: usize) -> Option<F::Output> {
    let mut future = Box::pin(future);
    let mut left = pauses;
    poll_fn(move |context| match future.as_mut().poll(context) {
        Poll::Ready(answer) => Poll::Ready(Some(answer)),
        Poll::Pending if left <= 1 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

/// The answer of `future`, unless `timer` ends first.
pub(super) async fn before<T>(timer: impl Future<Output = ()>, future: impl Future<Output = T>) -> Option<T> {
    let (mut timer, mut future) = (pin!(timer), pin!(future));
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(answer) => Poll::Ready(Some(answer)),
        Poll::Pending => timer.as_mut().poll(context).map(|()| None),
    })
    .await
}
