//! One form for all states that differ in what makes no difference: names, and what cannot matter any more.

use super::state::{Copy, MARGIN, Node, Owner, Phase, State, TTL, number};

impl State {
    /// The same state, in the one form that stands for all that differ from it in names only.
    pub(crate) fn into_normal_form(mut self) -> State {
        self.nodes.iter_mut().for_each(Node::forget_what_makes_no_difference);
        let nodes = self.nodes.len();
        if !self.nodes.is_sorted() {
            let mut order: Vec<usize> = (0..nodes).collect();
            order.sort_by(|a, b| self.nodes[*a].cmp(&self.nodes[*b]));
            for owner in self.owners().filter(|owner| usize::from(**owner) < nodes) {
                *owner = number(order.iter().position(|node| *node == usize::from(*owner)).unwrap_or(0));
            }
            self.nodes.sort();
        }
        // A dead owner is told from others, and that is all.
        let mut known_dead: Vec<Owner> = Vec::new();
        for owner in self.owners().filter(|owner| usize::from(**owner) >= nodes) {
            let index = known_dead.iter().position(|known| known == owner).unwrap_or_else(|| {
                known_dead.push(*owner);
                known_dead.len() - 1
            });
            *owner = number(nodes + index);
        }
        // A gap above each, for the next fence.
        let mut known = 0_u128;
        self.each_fence(|fence| known |= 1 << *fence);
        self.each_fence(|fence| *fence = number(2 * (known & ((1 << *fence) - 1)).count_ones() as usize));
        self.late.sort();
        self.late.dedup();
        self
    }
}

impl Node {
    fn forget_what_makes_no_difference(&mut self) {
        if let Phase::Hold(hold) = &mut self.phase
            && hold.left == 0
        {
            hold.in_doubt = None;
        }
        for write in self.writes() {
            let is_too_late = write.made >= TTL - MARGIN;
            if is_too_late {
                (write.made, write.error) = (TTL, Some(0));
            }
            match &mut write.copy {
                Copy::OnItsWay if is_too_late => write.sent = TTL,
                Copy::Applied(_, left) if is_too_late => (write.sent, *left) = (TTL, 0),
                Copy::OnItsWay | Copy::Applied(..) => {}
                Copy::Refused | Copy::Unanswered => write.sent = 0,
            }
        }
    }
}
