/*
 * report.h: what the experiments leave in OUT, for the files behind experiment.h.
 *
 *     OUT/report.html        the report: one page that needs nothing else
 *     OUT/findings.md        its table of findings
 *     OUT/NAME/SHA256SUMS    the manifest of a finished experiment: the files it has written
 *     OUT/NAME/section.html, OUT/NAME/findings.html     its part of the report
 *
 * The report is put together from the parts of all finished experiments, whichever run made them.
 */
#ifndef NADIR_PAPER_REPORT_H
#define NADIR_PAPER_REPORT_H

#include "experiment.h"

/* ------------------------------------------------------------------------------------------------ files */

/* Keeps the first failure of the run; returns `status`. */
nadir_status experiment_keep(experiment_run *run, nadir_status status);

/* Removes half-written files that a process which no longer runs has left in the folder; see
 * cli_output_open. */
void experiment_sweep(const char *folder);

/* Writes plain text as HTML; also right within attributes. */
void experiment_html(FILE *out, const char *text);

/* All of a file, with a zero at its end, to be freed with free. NULL: the file does not exist or, where
 * cli->trouble is set, cannot be read. */
char *experiment_slurp(cli_run *cli, const char *path, size_t *length);
/* The same of a temporary file (tmpfile), which is closed. NULL: part of it was lost, errno says why. (A
 * stream in memory, open_memstream, would not report that memory ran out.) */
char *experiment_take(FILE *scratch, size_t *length);
/* The error for a file that should be there and could not be read. */
nadir_status experiment_unreadable(cli_run *cli, const char *path);

/* --------------------------------------------------------------------------------------------- manifest */

/* The manifest begins with the settings, as lines after '#'. The rest is as sha256sum writes it: `sha256sum
 * -c` checks it. */

/* Writes the manifest of run->files. */
nadir_status experiment_manifest_write(experiment_run *run);
/* Whether the folder has a manifest whose files exist and have not changed; with `same`, also whether its
 * settings are those of the run. cli->trouble is set where a file cannot be read. */
bool experiment_manifest_holds(const experiment_run *run, bool same);
/* Without a manifest the experiment counts as unfinished. */
void experiment_manifest_remove(const experiment_run *run);

/* ----------------------------------------------------------------------------------------------- report */

/* Opens run->section and run->findings, temporary files, and writes the head of the section. */
nadir_status experiment_section_open(experiment_run *run);
/* Ends the section, and writes both to the folder. If `status` or a kept status is a failure, writes nothing
 * and returns it. seconds: the time that the experiment took. */
nadir_status experiment_section_close(experiment_run *run, nadir_status status, double seconds);

/* Writes OUT/report.html and OUT/findings.md. path: that of the report. */
nadir_status experiment_report_write(cli_run *cli, const char *out, char path[EXPERIMENT_PATH]);

#endif
