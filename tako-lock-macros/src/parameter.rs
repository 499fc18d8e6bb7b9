//! The arguments of a function.

use proc_macro2::{TokenStream, TokenTree};

use crate::item::attribute;
use crate::tokens::{Angles, is_pair, is_punct, is_word, peeled, whole_code};

/// One argument of a function.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) attributes: Vec<TokenTree>,
    pub(crate) pattern: Vec<TokenTree>,
    /// `:`; none for `self` and its like.
    pub(crate) colon: Option<TokenTree>,
    pub(crate) ty: Vec<TokenTree>,
}

impl Parameter {
    pub(crate) fn new(trees: &[TokenTree]) -> Parameter {
        let mut start = 0;
        while let Some(attribute) = attribute(&trees[start..]) {
            start += attribute.trees.len();
        }
        let mut colon = None;
        let mut at = start;
        while at < trees.len() && colon.is_none() {
            if is_pair(trees, at, [':', ':']) {
                at += 2;
            } else if is_punct(&trees[at], ':') {
                colon = Some(at);
            } else {
                at += 1;
            }
        }
        let end = colon.unwrap_or(trees.len());
        Parameter {
            attributes: trees[..start].to_vec(),
            pattern: trees[start..end].to_vec(),
            colon: colon.map(|at| trees[at].clone()),
            ty: trees.get(end + 1..).unwrap_or_default().to_vec(),
        }
    }

    /// `self`, `&self`, `&'a mut self`, `self: Rc<Self>` and their like.
    pub(crate) fn is_receiver(&self) -> bool {
        peeled(self.pattern.iter().cloned().collect()).last().is_some_and(|tree| is_word(tree, "self"))
    }

    /// Whether the type is spelled `Ctx`, with or without a path before it.
    pub(crate) fn is_context(&self) -> bool {
        let ty = peeled(self.ty.iter().cloned().collect());
        let path = ty.iter().all(|tree| matches!(tree, TokenTree::Ident(_)) || is_punct(tree, ':'));
        path && ty.last().is_some_and(|tree| is_word(tree, "Ctx"))
    }

    pub(crate) fn trees(&self) -> Vec<TokenTree> {
        let mut trees = self.attributes.clone();
        trees.extend(self.pattern.iter().cloned());
        trees.extend(self.colon.clone());
        trees.extend(self.ty.iter().cloned());
        trees
    }

    pub(crate) fn code(&self) -> String {
        whole_code(&self.trees()[self.attributes.len()..])
    }
}

/// Cuts at the commas outside of all brackets.
pub(crate) fn split_at_commas(stream: TokenStream) -> Vec<Vec<TokenTree>> {
    let mut pieces = Vec::new();
    let mut piece = Vec::new();
    let mut angles = Angles::default();
    for tree in stream {
        if angles.closed() && is_punct(&tree, ',') {
            pieces.push(std::mem::take(&mut piece));
            continue;
        }
        angles.pass(&tree);
        piece.push(tree);
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}
