/*
 * manifest.h: the list of what a finished experiment has written: OUT/NAME/SHA256SUMS.
 *
 * It begins with the settings, as lines after '#', and goes on as sha256sum writes it: `sha256sum -c` checks
 * it.
 */
#ifndef NADIR_EXPERIMENTS_MANIFEST_H
#define NADIR_EXPERIMENTS_MANIFEST_H

#include "experiment.h"

/* The list of run->files. */
nadir_status experiment_manifest_write(experiment_run *run);
/* Whether the folder has a list whose files are there and as they were written, of the same settings where
 * `same` is set. cli->trouble is set where this cannot be told. */
bool experiment_manifest_holds(const experiment_run *run, bool same);
/* No list: what stands in the folder is not finished. */
void experiment_manifest_remove(const experiment_run *run);

#endif
