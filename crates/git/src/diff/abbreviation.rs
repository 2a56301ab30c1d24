//! How much of a hash an index line shows.

use gix::ObjectId;
use gix::hash::Prefix;

use crate::objects::Objects;

/// Git's own rule for `core.abbrev = auto`, whatever is configured: enough digits for the number of packed objects, at least
/// seven, and more where two objects would look the same.
pub(super) struct Abbreviation<'a> {
    objects: &'a Objects,
    digits: usize,
}

impl<'a> Abbreviation<'a> {
    pub(super) fn new(objects: &'a Objects) -> Self {
        // A collision is to be expected among 2^n objects once hashes have 2n bits, and a digit has four.
        let packed = objects.repo.objects.packed_object_count().unwrap_or(0);
        let bits = (u64::BITS - packed.leading_zeros()) as usize;
        Abbreviation { objects, digits: bits.div_ceil(2).max(7) }
    }

    /// The beginning of a hash; that of nothing is all zeros.
    pub(super) fn of(&self, id: Option<ObjectId>) -> String {
        let id = id.unwrap_or(ObjectId::null(self.objects.repo.object_hash()));
        let hash = id.to_string();
        let longest = hash.len();
        let digits = (self.digits..longest).find(|&digits| self.is_unique(id, digits)).unwrap_or(longest);
        hash.get(..digits).unwrap_or(&hash).to_owned()
    }

    /// Whether no other object begins so. What is not in the repository, such as a submodule's commit, can be unique too.
    fn is_unique(&self, id: ObjectId, digits: usize) -> bool {
        let Ok(prefix) = Prefix::new(&id, digits) else { return true };
        match self.objects.repo.objects.lookup_prefix(prefix, None) {
            Ok(Some(Ok(found))) => found == id,
            Ok(Some(Err(()))) => false,
            Ok(None) | Err(_) => true,
        }
    }
}
