/* parts.h: what the files behind experiment.h, manifest.h and report.h share. */
#ifndef NADIR_EXPERIMENTS_PARTS_H
#define NADIR_EXPERIMENTS_PARTS_H

#include "experiment.h"

/* Keeps the first failure of the run; returns `status`. */
nadir_status experiment_keep(experiment_run *run, nadir_status status);

/* Removes what a process that is gone has left half written in the folder; see cli_output_open. */
void experiment_sweep(const char *folder);

/* Plain text into HTML, also within attributes. */
void experiment_html(FILE *out, const char *text);

/* All of a file, with a zero at its end, to be freed with free. NULL: it is not there or, where cli->trouble
 * is set, cannot be read. */
char *experiment_slurp(cli_run *cli, const char *path, size_t *length);
/* The same of a temporary file (tmpfile), which is closed. NULL: something of it was lost, errno says why.
 * Streams in memory (open_memstream) would not tell when there is none. */
char *experiment_take(FILE *scratch, size_t *length);
/* What to say of a file that should be there, and was not read. */
nadir_status experiment_unreadable(cli_run *cli, const char *path);

#endif
