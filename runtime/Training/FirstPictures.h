// What a model sees, for people to look at.
#ifndef DLC_RUNTIME_TRAINING_FIRSTPICTURES_H
#define DLC_RUNTIME_TRAINING_FIRSTPICTURES_H

#include "runtime/Training/EventFile.h"
#include "runtime/Training/RunStart.h"

namespace dlc::runtime {

/// Adds a sheet of the images of the batch that a run goes on with, on rank 0 of so many, behind
/// their transforms and in front of mixing: 64 at most. Ok where the entry takes no images of these
/// data. Fails as drawSheet() and openPictureEncoder() do.
Status addFirstPictures(EventFile &events, const RunOptions &options, const RunBeginning &begin,
                        const TrainingProgress &progress, unsigned ranks);

} // namespace dlc::runtime

#endif
