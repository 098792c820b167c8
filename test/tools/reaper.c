/*
 * test/tools/reaper.c
 *	  Runs a command, takes the exit status of each process that it leaves
 *	  behind, and ends those that still run when the command has ended.
 *
 * A server that was started in the background belongs to process 1 from then
 * on.  In many containers that is a program which never asks how its children
 * ended.  A postmaster that a test has killed would stay in the list of
 * processes there, and its data directory would look as if it was in use.  So the
 * suites, and each program of them, run below this program, which takes the place of process 1 for them.
 *
 * A server that a test has stopped with SIGSTOP, and not continued, would live on
 * after the suites.  It holds the pipe by which make counts its jobs, and make
 * waits for the end of that pipe, so ./check would never end.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Kills each process whose parent we are, and returns their number.  The children
 * of these are ours from then on.
 */
static int
kill_children(void)
{
	int			killed = 0;
	DIR		   *processes = opendir("/proc");
	struct dirent *entry;

	while (processes && (entry = readdir(processes)) != NULL)
	{
		char		path[64];
		char		name[64];
		char		state;
		FILE	   *file;
		int			pid = atoi(entry->d_name);
		int			parent;

		if (pid <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fscanf(file, "%*d (%63[^)]) %c %d", name, &state, &parent) == 3 && parent == getpid())
		{
			if (state != 'Z')
				fprintf(stderr, "uidgen: the tests left process %d (%s) behind; it is killed\n", pid, name);
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			killed++;
		}
		fclose(file);
	}
	if (processes)
		closedir(processes);
	return killed;
}

int
main(int argc, char **argv)
{
	pid_t		command;
	pid_t		ended;
	int			status;

	if (argc < 2)
	{
		fprintf(stderr, "usage: %s COMMAND [ARGUMENT]...\n", argv[0]);
		return 2;
	}
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
		fprintf(stderr, "%s: could not become the parent of orphans: %s\n", argv[0], strerror(errno));

	command = fork();
	if (command == 0)
	{
		execvp(argv[1], argv + 1);
		fprintf(stderr, "%s: could not run %s: %s\n", argv[0], argv[1], strerror(errno));
		_exit(127);
	}
	if (command < 0)
	{
		fprintf(stderr, "%s: could not fork: %s\n", argv[0], strerror(errno));
		return 1;
	}

	/*
	 * What is meant to end all ends the command first, which needs us until
	 * then.
	 */
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);

	do
		ended = wait(&status);
	while (ended != command && (ended > 0 || errno == EINTR));

	while (kill_children() > 0)
		;

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	/* As the command ended, for whoever waits for us. */
	signal(WTERMSIG(status), SIG_DFL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}
