//! Every sample of an input, and what is wrong with the lines that are none.

use std::io::BufRead;

use super::{Sample, SampleError, make_ids_distinct, read, read_changes};

/// What an input of JSON lines holds. One rule of failure for all who read samples: a line that is no sample is kept aside and the
/// rest is read; only an input that cannot be read on is an error. Whether lines kept aside are told, counted or refused is for the
/// caller to say.
#[derive(Debug, Default)]
pub struct Samples {
    /// The samples, in the order of the input, each with its place: the number of lines before it that are not blank.
    pub samples: Vec<(usize, Sample)>,
    /// What is wrong with each line that is no sample, in the order of the input; [`SampleError::hint`] says how to mend it.
    pub unreadable: Vec<SampleError>,
    /// The samples that had the id of an earlier one, if there are any.
    pub renamed: Option<Renamed>,
}

/// Samples that got another id than the input's, because an earlier sample has it ([`make_ids_distinct`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renamed {
    /// How many samples got another id.
    pub n: usize,
    /// The new id of the first of them.
    pub first: String,
}

impl Samples {
    /// Reads an input to its end and makes the ids of its samples distinct.
    ///
    /// # Errors
    /// [`SampleError::Read`] if the input cannot be read on.
    pub fn read(input: impl BufRead) -> Result<Samples, SampleError> {
        Samples::gather(read(input))
    }

    /// As [`Samples::read`], of changes that need have no text.
    ///
    /// # Errors
    /// As [`Samples::read`].
    pub fn read_changes(input: impl BufRead) -> Result<Samples, SampleError> {
        Samples::gather(read_changes(input))
    }

    fn gather(lines: impl Iterator<Item = Result<Sample, SampleError>>) -> Result<Samples, SampleError> {
        let mut read_so_far = Samples::default();
        for (place, sample) in lines.enumerate() {
            match sample {
                Ok(sample) => read_so_far.samples.push((place, sample)),
                Err(error @ SampleError::Read { .. }) => return Err(error),
                Err(error) => read_so_far.unreadable.push(error),
            }
        }
        let renamed = make_ids_distinct(read_so_far.samples.iter_mut().map(|(_, sample)| sample));
        read_so_far.renamed = renamed.map(|(n, first)| Renamed { n, first });
        Ok(read_so_far)
    }

    /// The samples without their places.
    pub fn into_samples(self) -> Vec<Sample> {
        self.samples.into_iter().map(|(_, sample)| sample).collect()
    }
}
