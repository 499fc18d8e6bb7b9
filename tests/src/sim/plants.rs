//! Wrong engines, each with one mistake that is easily made: what `simulate --planted` must find.
//!
//! The engine itself knows nothing of them. `planted` copies the sources, puts every mistake into the copy behind a
//! switch, and builds that once.

/// One mistake.
pub(super) struct Plant {
    pub(super) name: &'static str,
    /// In which file of the engine, what stands there, and what is put in its place. `PLANTED` stands for the switch.
    pub(super) edits: &'static [(&'static str, &'static str, &'static str)],
}

const fn plant(name: &'static str, edits: &'static [(&'static str, &'static str, &'static str)]) -> Plant {
    Plant { name, edits }
}

/// All of them.
pub(super) const PLANTS: &[Plant] = &[
    plant(
        "deadline-from-the-reply",
        &[(
            "engine/step.rs",
            "    let by_send = write.first_sent.plus(policy.ttl);\n",
            "    if PLANTED { return Some(write.known.plus(policy.ttl).minus(policy.margin)); }\n    let by_send = write.first_sent.plus(policy.ttl);\n",
        )],
    ),
    plant(
        "adopted-write-dated-at-its-read",
        &[(
            "engine/write.rs",
            "Outcome::Landed { token, confirmed: self.confirmed(self.slot.shared.world.now(), None) }",
            "{ let now = self.slot.shared.world.now(); let mut confirmed = self.confirmed(now, None); if PLANTED { confirmed.first_sent = now; } Outcome::Landed { token, confirmed } }",
        )],
    ),
    plant(
        "no-margin",
        &[(
            "engine/step.rs",
            "Some(by_send.min(by_store).minus(policy.margin))",
            "Some(if PLANTED { by_send.plus(policy.margin + policy.margin) } else { by_send.min(by_store).minus(policy.margin) })",
        )],
    ),
    plant(
        "takeover-without-guard",
        &[(
            "engine/step.rs",
            "let takeable = expires.plus(policy.guard);",
            "let takeable = if PLANTED { expires } else { expires.plus(policy.guard) };",
        )],
    ),
    plant(
        "takeover-one-beat-early",
        &[(
            "engine/step.rs",
            "if reading.earliest() >= takeable {",
            "if reading.earliest() >= takeable || PLANTED && reading.earliest().plus(policy.heartbeat + policy.guard) >= takeable {",
        )],
    ),
    plant(
        "takeover-of-what-stood-still-for-20-s",
        &[(
            "engine/step.rs",
            "view.now.since(watched.since) >= policy.ttl + policy.guard",
            "view.now.since(watched.since) >= if PLANTED { std::time::Duration::from_secs(20) } else { policy.ttl + policy.guard }",
        )],
    ),
    plant(
        "watched-from-whichever-version",
        &[(
            "engine/queue.rs",
            "if seen != self.watched.as_ref().map(|watched| &watched.token) {",
            "if PLANTED && seen.is_some() && self.watched.is_some() { if let (Some(watched), Some(token)) = (&mut self.watched, seen) { watched.token = token.clone(); } } else if seen != self.watched.as_ref().map(|watched| &watched.token) {",
        )],
    ),
    plant(
        "wall-clock-compared",
        &[(
            "engine/campaign.rs",
            "let (store, watched) = (store_clock.read(now), turn.notes.watched.as_ref());",
            "let (mut store, watched) = (store_clock.read(now), turn.notes.watched.as_ref()); if PLANTED && store.is_some() { store = Some(super::store_time::Reading { time: world.wall(), error: std::time::Duration::ZERO }); }",
        )],
    ),
    plant(
        "timeout-taken-for-success",
        &[(
            "engine/write.rs",
            "            Err(failure) => {\n                self.in_doubt |=",
            "            Err(failure) if PLANTED && failure.kind() == ErrorKind::UnknownOutcome => { let now = self.slot.shared.world.now(); Some(Ok(Outcome::Landed { token: self.expected.clone().unwrap_or(Token::from(0)), confirmed: self.confirmed(now, None) })) }\n            Err(failure) => {\n                self.in_doubt |=",
        )],
    ),
    plant(
        "412-taken-for-success",
        &[(
            "engine/write.rs",
            "            Ok(Swap::Refused) => {\n",
            "            Ok(Swap::Refused) if PLANTED => { let now = self.slot.shared.world.now(); Some(Ok(Outcome::Landed { token: self.expected.clone().unwrap_or(Token::from(0)), confirmed: self.confirmed(now, None) })) }\n            Ok(Swap::Refused) => {\n",
        )],
    ),
    plant(
        "412-taken-for-loss",
        &[(
            "engine/write.rs",
            "            Ok(Swap::Refused) => {\n",
            "            Ok(Swap::Refused) if PLANTED => Some(Ok(Outcome::Others(None))),\n            Ok(Swap::Refused) => {\n",
        )],
    ),
    plant(
        "an-error-taken-for-loss",
        &[(
            "engine/heartbeat.rs",
            "                Some(Err(error)) => {\n",
            "                Some(Err(_)) if PLANTED => { hold.lose(crate::error::LossCause::Vanished); return None; }\n                Some(Err(error)) => {\n",
        )],
    ),
    plant(
        "owner-per-process",
        &[(
            "engine/mod.rs",
            "let id = (self.world.random() ^ u128::from(now.as_nanos())).to_be_bytes();",
            "let id = if PLANTED { [7; 16] } else { (self.world.random() ^ u128::from(now.as_nanos())).to_be_bytes() };",
        )],
    ),
    plant(
        "renewal-without-the-token",
        &[(
            "engine/store.rs",
            "        self.request(async move { backend.swap(&key, expected.as_ref(), &record).await })",
            "        let blind = PLANTED && !record.is_released();\n        self.request(async move { let expected = if blind { backend.load(&key).await?.map(|stored| stored.token) } else { expected }; backend.swap(&key, expected.as_ref(), &record).await })",
        )],
    ),
    plant(
        "release-without-the-token",
        &[(
            "engine/store.rs",
            "        let (backend, key, expected, record) =\n            (self.backend.clone(), key.clone(), expected.cloned(), record.clone());\n",
            "        let (backend, key, expected, record) =\n            (self.backend.clone(), key.clone(), expected.cloned(), record.clone());\n        if PLANTED && record.is_released() { return self.request(async move { let expected = backend.load(&key).await?.map(|stored| stored.token); backend.swap(&key, expected.as_ref(), &record).await }); }\n",
        )],
    ),
    plant(
        "release-over-another's-record",
        &[(
            "engine/release.rs",
            "                Some(Ok(Outcome::Others(_))) => {\n",
            "                Some(Ok(Outcome::Others(Some(stored)))) if PLANTED => self.write.retarget(stored.token),\n                Some(Ok(Outcome::Others(_))) => {\n",
        )],
    ),
    plant(
        "release-forgotten",
        &[(
            "engine/hold.rs",
            "        if let Some(release) = ScopeGuard::into_inner(self.0).end()?.and_then(Release::send) {",
            "        if PLANTED { let Parts { hold, .. } = ScopeGuard::into_inner(self.0); let now = hold.slot.shared.world.now(); hold.end(now)?; hold.slot.shared.heartbeats.strike(&hold); return Ok(()); }\n        if let Some(release) = ScopeGuard::into_inner(self.0).end()?.and_then(Release::send) {",
        )],
    ),
    plant(
        "release-error-reported-as-released",
        &[(
            "engine/release.rs",
            "                Some(Err(error)) => break error",
            "                Some(Err(_)) | None if PLANTED => return Some(Token::from(0)),\n                Some(Err(error)) => break error",
        )],
    ),
    plant(
        "beat-after-the-deadline",
        &[
            (
                "engine/heartbeat.rs",
                "            let deadline = hold.deadline()?;\n",
                "            let mut deadline = hold.deadline()?; if PLANTED { deadline = deadline.plus(policy.ttl); }\n",
            ),
            (
                "engine/heartbeat.rs",
                "            hold.standing();\n            let",
                "            if !PLANTED { hold.standing(); }\n            let",
            ),
        ],
    ),
    plant(
        "no-latch",
        &[(
            "engine/loss.rs",
            "                deadline if now.as_nanos() >= deadline => (Standing::Lost, LOST),",
            "                deadline if PLANTED && now.as_nanos() >= deadline => match next { Some(next) => (Standing::Live, next), None => return Standing::Lost },\n                deadline if now.as_nanos() >= deadline => (Standing::Lost, LOST),",
        )],
    ),
    plant(
        "no-deadline-of-its-own",
        &[
            (
                "engine/loss.rs",
                "                deadline if now.as_nanos() >= deadline => (Standing::Lost, LOST),",
                "                deadline if PLANTED && now.as_nanos() >= deadline => match next { Some(next) => (Standing::Live, next), None => return Standing::Live },\n                deadline if now.as_nanos() >= deadline => (Standing::Lost, LOST),",
            ),
            (
                "engine/loss.rs",
                "then(|| Moment::from_nanos(word))",
                "then(|| Moment::from_nanos(if PLANTED { u64::MAX / 2 } else { word }))",
            ),
        ],
    ),
    plant(
        "woken-without-a-look-at-the-clock",
        &[(
            "engine/hold.rs",
            "                hold.standing();\n                hold.slot",
            "                if !PLANTED { hold.standing(); }\n                hold.slot",
        )],
    ),
    plant(
        "a-loss-that-the-caller-is-not-told",
        &[("lock.rs", "(Ok(_), Err(lost)) => Err(", "(Ok(_), Err(lost)) if !PLANTED => Err(")],
    ),
    plant(
        "leaked-beat",
        &[
            (
                "engine/hold.rs",
                "let standing = self.deadline.end(now);",
                "if PLANTED { return Ok(()); }\n        let standing = self.deadline.end(now);",
            ),
            (
                "engine/release.rs",
                "        self.0.slot.shared.heartbeats.strike(&self.0);",
                "        if !PLANTED { self.0.slot.shared.heartbeats.strike(&self.0); }",
            ),
        ],
    ),
    plant(
        "hold-dropped-and-never-released",
        &[(
            "engine/hold.rs",
            "|parts| drop(parts.end())",
            "|parts| if PLANTED { let now = parts.hold.slot.shared.world.now(); drop(parts.hold.end(now)); parts.hold.slot.shared.heartbeats.strike(&parts.hold); } else { drop(parts.end()) }",
        )],
    ),
    plant(
        "claim-dropped-in-flight-and-forgotten",
        &[("engine/claim.rs", "if !self.write.may_land() {", "if PLANTED || !self.write.may_land() {")],
    ),
    plant(
        "beat-not-due-again",
        &[(
            "engine/heartbeat.rs",
            "Some(known) => _ = heartbeats.enrol(&self.hold, known),",
            "Some(_) if PLANTED => {}\n            Some(known) => _ = heartbeats.enrol(&self.hold, known),",
        )],
    ),
    plant(
        "reply-too-late-but-started",
        &[(
            "engine/step.rs",
            "deadline.since(now) >= policy.useful",
            "PLANTED || deadline.since(now) >= policy.useful",
        )],
    ),
    plant(
        "waiter-started-at-shutdown",
        &[
            (
                "engine/visit.rs",
                "        slot.admit()?;\n        if !is_kept_up",
                "        if !PLANTED { slot.admit()?; }\n        if !is_kept_up",
            ),
            (
                "engine/visit.rs",
                "race(pin!(self.scope.ended()), pin!(closing.cancelled())).await",
                "race(pin!(self.scope.ended()), pin!(async { if PLANTED { std::future::pending::<()>().await; } closing.cancelled().await })).await",
            ),
        ],
    ),
    plant(
        "fence-not-moved",
        &[(
            "engine/step.rs",
            "record.fence.get().checked_add(1)",
            "record.fence.get().checked_add(u64::from(!PLANTED))",
        )],
    ),
    plant(
        "fence-reset-on-a-new-record",
        &[(
            "engine/step.rs",
            "Fence::new(reading.latest().as_millis()) }",
            "Fence::new(if PLANTED { 1 } else { reading.latest().as_millis() }) }",
        )],
    ),
    plant(
        "poll-by-writing",
        &[(
            "engine/campaign.rs",
            "            Step::Wait => Err",
            "            Step::Wait if PLANTED => Ok(Claim::new(self, now, store_clock.read(now), turn, None, crate::backend::Fence::new(1), None).send()),\n            Step::Wait => Err",
        )],
    ),
    plant(
        "poll-four-times-as-often",
        &[(
            "engine/campaign.rs",
            "(turn, world.jittered(policy.poll))",
            "(turn, world.jittered(policy.poll) / if PLANTED { 4 } else { 1 })",
        )],
    ),
    plant(
        "poll-half-as-often",
        &[(
            "engine/campaign.rs",
            "(turn, world.jittered(policy.poll)",
            "(turn, (if PLANTED { 2 } else { 1 }) * world.jittered(policy.poll)",
        )],
    ),
    plant(
        "beat-every-other-second",
        &[(
            "engine/step.rs",
            "deadline.minus(policy.slack()).max",
            "deadline.minus(if PLANTED { policy.slack() + policy.retry * 25 } else { policy.slack() }).max",
        )],
    ),
    plant(
        "retry-without-pause",
        &[(
            "engine/write.rs",
            "pace + self.world.jittered(mean)",
            "if PLANTED { std::time::Duration::from_millis(1) } else { pace + self.world.jittered(mean) }",
        )],
    ),
    plant(
        "one-try-for-each-beat",
        &[(
            "engine/heartbeat.rs",
            "                    hold.slot.shared.pause_after(error.kind(), mean)\n",
            "                    if PLANTED { policy.heartbeat } else { hold.slot.shared.pause_after(error.kind(), mean) }\n",
        )],
    ),
    plant(
        "clean-shutdown-with-leases-left",
        &[(
            "engine/shutdown.rs",
            "Shutdown { left: self.closing.left().values().cloned().collect() }",
            "Shutdown { left: if PLANTED { Vec::new() } else { self.closing.left().values().cloned().collect() } }",
        )],
    ),
];
