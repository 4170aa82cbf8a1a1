/* files.h: the files that a command reads and writes: none that is read is written, none is written twice,
 * and each is written whole or not at all. */
#ifndef NADIR_CLI_FILES_H
#define NADIR_CLI_FILES_H

#include "cli.h"

enum { CLI_FILES_READ = CLI_LIST_LENGTH + 8, CLI_FILES_WRITTEN = 8 };

/* A struct of zeros names none. */
typedef struct cli_files {
    int inputs, outputs;
    const char *input[CLI_FILES_READ];
    const char *output[CLI_FILES_WRITTEN];
} cli_files;

/* path: NULL: none. A word that may or may not name a file is allowed. */
void cli_files_read(cli_files *files, const char *path);
void cli_files_write(cli_files *files, const char *path);
/* The model and what is read with it. */
void cli_files_read_model(cli_files *files, const char *path, const nadir_read_settings *reading);
/* The radii and the scales. */
void cli_files_read_ball(cli_files *files, const cli_ball *ball);

/* NADIR_ERROR_ARGUMENT, and a sentence, if a file that is read, or written already, would be written over. */
nadir_status cli_files_check(cli_run *run, const cli_files *files);
/* NADIR_ERROR_IO, and a sentence, if one is to be written to a folder where that cannot work: said before
 * long work. */
nadir_status cli_files_check_folders(cli_run *run, const cli_files *files);

/* Whether the ending of a model or kernel to be written names a format. path: NULL: none is written. */
nadir_status cli_files_check_format(cli_run *run, const char *path);

/* It stays where it was opened: the stream points to it. */
typedef struct cli_output {
    const char *path;
    FILE *out; /* write to this; NULL: closed */
    int descriptor;
    int error; /* errno of the first write that failed; 0: none */
    char temporary[4096];
} cli_output;

nadir_status cli_output_open(cli_run *run, const char *path, cli_output *output);
/* Gives the file its name, once all of it is on the disk. */
nadir_status cli_output_close(cli_run *run, cli_output *output);
/* Leaves no file. */
void cli_output_drop(cli_output *output);

#endif
