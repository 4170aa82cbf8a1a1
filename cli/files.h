/* files.h: the files that a command reads and writes: none that is read is written, and none is written
 * twice. */
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

/* NULL: there is no such file. A word that may name a file or something else does no harm. */
void cli_files_read(cli_files *files, const char *path);
void cli_files_write(cli_files *files, const char *path);
/* The model and what is read with it. */
void cli_files_read_model(cli_files *files, const char *path, const nadir_read_settings *reading);

/* NADIR_ERROR_ARGUMENT, and a sentence, if a file that is read, or written already, would be written over. */
nadir_status cli_files_check(cli_run *run, const cli_files *files);
/* NADIR_ERROR_IO, and a sentence, if one is to be written to a folder where that cannot work: said before
 * long work. */
nadir_status cli_files_check_folders(cli_run *run, const cli_files *files);

#endif
