/*
 * report.h: the report: OUT/report.html, one page that needs nothing else, and its findings, OUT/findings.md.
 *
 * An experiment leaves its part in its folder, section.html and findings.html; the page is put together from
 * the parts of all experiments that are finished, whichever run made them.
 */
#ifndef NADIR_EXPERIMENTS_REPORT_H
#define NADIR_EXPERIMENTS_REPORT_H

#include "experiment.h"

/* Opens run->section and run->findings, temporary files, and writes the head of the section. */
nadir_status experiment_section_open(experiment_run *run);
/* Ends it, and writes both to the folder, unless `status` or something that was kept is a failure, which is
 * returned. seconds: that the experiment took. */
nadir_status experiment_section_close(experiment_run *run, nadir_status status, double seconds);

/* Writes OUT/report.html and OUT/findings.md. path: where the former is. */
nadir_status experiment_report_write(cli_run *cli, const char *out, char path[EXPERIMENT_PATH]);

#endif
