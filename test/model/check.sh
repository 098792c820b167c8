#!/bin/sh
# test/model/check.sh
#	  Searches the models of generator and keeper: generator.pml, and barriers.pml for
#	  a machine that reorders; that of a shared registry, fleet.pml; and those of
#	  segments, switch.pml for the buffers of a server and segments.pml for the registry;
#	  confirmed.pml for the standbys that know of a failover; horizon.pml for readers that go on by
#	  id; eras.pml for callers that are stopped while eras go by; and edition.pml for the lock
#	  of sequences of the edition in SQL.
#	  Each as it is, to the end and without an error.  Prints TAP.
#
#	test/model/check.sh			small bounds: half a minute
#	MODEL=rules test/model/check.sh		besides with one rule broken at a time, where the error must be
#										found: this tests the models, so run it when one of them changes
#	MODEL=large test/model/check.sh		this and larger bounds: twenty minutes, three gigabytes of memory
#
# Needs the Debian packages spin and gcc.  Writes to a temporary folder only.
set -u

models=$(cd "$(dirname "$0")" && pwd)
for tool in spin gcc; do
	command -v $tool >/dev/null || { echo "Bail out! $tool is missing"; exit 1; }
done
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cd "$dir" || exit 1

# What must hold: bounds, by what they leave room for.  The rest is as in the
# models: 2 callers, 2 tickets, 3 attempts or steps of the keeper, 2 worker ids, and
# none of what can happen.
right_small='
release, crash, acquisition	-DRELEASES=1 -DCRASHES=1
three tickets	-DTICKETS=3 -DATTEMPTS=2 -DRELEASES=1
the clock moves	-DCLOCKS=1 -DATTEMPTS=2
large steps of the clock	-DCLOCKS=2 -DCALLERS=1 -DSTEADY
a clock that no id has followed	-DSTART=2 -DTHERE_AND_BACK -DCLOCKS=2 -DATTEMPTS=2
calls that keep the clock they have seen	-DKEPT_CLOCK -DCLOCKS=1 -DATTEMPTS=2 -DTICKETS=3 -DCALLERS=1
leaps to another worker id	-DLEAPS=1 -DCLOCKS=1 -DCALLERS=1
other bounds	-DRELOADS=1 -DATTEMPTS=2
another instance takes a row	-DOTHERS=1 -DATTEMPTS=2
an operator frees a row	-DFORGETS=1 -DATTEMPTS=2
the registry falls back	-DBACKS=1 -DATTEMPTS=2
a copy of the registry	-DCOPIES=1 -DRELEASES=1 -DTICKETS=3 -DCALLERS=1'

right_large='
release, crash, acquisition	-DRELEASES=1 -DCRASHES=2 -DTICKETS=3
crash and moves of the clock	-DCRASHES=1 -DCLOCKS=1
three callers	-DCALLERS=3 -DTICKETS=3 -DATTEMPTS=2 -DRELEASES=1
four attempts	-DATTEMPTS=4 -DRELEASES=2
large steps of the clock	-DCLOCKS=2 -DSTEADY
three moves of the clock	-DCLOCKS=3 -DCALLERS=1
a clock that no id has followed	-DSTART=2 -DTHERE_AND_BACK -DCLOCKS=2
a large step back to where an era began	-DSTART=2 -DFAR=5 -DWINDOW=3 -DTHERE_AND_BACK -DCLOCKS=2 -DSTEADY
calls that keep the clock they have seen	-DKEPT_CLOCK -DTHERE_AND_BACK -DCLOCKS=2 -DSTEADY
leaps to another worker id	-DLEAPS=1 -DCLOCKS=1
leaps and large steps	-DLEAPS=1 -DCLOCKS=2 -DCALLERS=1
three worker ids	-DWORKERS=3 -DLEAPS=2 -DRELEASES=1
three worker ids, and a large step	-DWORKERS=3 -DCLOCKS=2 -DTHERE_AND_BACK -DSTEADY
disposable worker ids	-DDISPOSABLE -DWORKERS=3 -DCRASHES=1 -DRELEASES=1
nothing may run ahead	-DAHEAD=0 -DBURST=0 -DCLOCKS=2 -DTHERE_AND_BACK
a wider window	-DWINDOW=2 -DCLOCKS=1
other bounds, and the clock moves	-DRELOADS=1 -DCLOCKS=1 -DATTEMPTS=2
other bounds, and back	-DRELOADS=2 -DCLOCKS=1 -DCALLERS=1
other bounds, and a crash	-DRELOADS=1 -DCRASHES=1 -DATTEMPTS=2
other bounds, and calls that keep the clock	-DKEPT_CLOCK -DRELOADS=1 -DATTEMPTS=2
another instance takes a row	-DOTHERS=1 -DRELEASES=1
another instance, and a crash	-DOTHERS=1 -DCRASHES=1
an operator frees a row	-DFORGETS=1 -DRELEASES=1
an operator frees a row, and large steps	-DFORGETS=1 -DCLOCKS=2 -DCALLERS=1
the registry falls back	-DBACKS=1
the registry falls back, with steps of the clock	-DBACKS=1 -DCLOCKS=2 -DCALLERS=1
a copy of the registry	-DCOPIES=1 -DRELEASES=1
a copy of the registry, and the clock moves	-DCOPIES=1 -DCLOCKS=1 -DATTEMPTS=2
not needed: the gate	-DBUG_NO_GATE -DTICKETS=3
not needed: that a large step shuts it	-DBUG_NOT_SHUT -DCLOCKS=2 -DSTEADY
not needed: the limit of 0	-DBUG_LIMIT_KEPT -DRELEASES=1 -DCLOCKS=1
not needed: opened before the even era	-DBUG_OPENED_AFTER_EVEN -DLEAPS=1 -DCLOCKS=1 -DATTEMPTS=2'

barriers_right_small='
barriers	-DCALLERS=1 -DTICKETS=3
barriers, between callers	-DSTEPS=2
barriers, and the bounds are lowered	-DLOWERED=1 -DCALLERS=1
barriers, and the clock is set back	-DSET_BACK=1 -DCALLERS=1 -DTICKETS=1'

barriers_right_large='
barriers, between callers	-DCALLERS=2
barriers, and the bounds are lowered	-DLOWERED=1 -DSTEPS=2
barriers, and the clock is set back	-DSET_BACK=1 -DCALLERS=1 -DSTEPS=4
barriers, and all of it	-DSET_BACK=1 -DLOWERED=1 -DCALLERS=1'

fleet_right_small='
answers that are lost, a crash	-DCALLS=4 -DLOST=1 -DCRASHES=1 -DNODES=2
answers that are lost cost no worker id	-DKEPT -DCALLS=6 -DLOST=3 -DMOVES=0 -DNODES=2
nor where clocks differ	-DKEPT -DCALLS=4 -DLOST=1 -DOWN_TIME=4 -DMOVES=1 -DNODES=2
a copy of a memory, and releases	-DCALLS=4 -DCOPIES=1 -DRELEASES=1 -DNODES=2
failover	-DCALLS=4 -DFAILOVERS=1 -DNODES=2
failover to a clock that is behind	-DCALLS=4 -DFAILOVERS=1 -DSLACK=1 -DBEHIND=1 -DNODES=2
failover, and nodes whose time is behind	-DCALLS=4 -DFAILOVERS=1 -DOWN_TIME=4 -DMOVES=1 -DNODES=2
restart and failover	-DCALLS=4 -DRESTARTS=1 -DFAILOVERS=1 -DMOVES=1 -DNODES=2
failover and import	-DWORKERS=1 -DCALLS=4 -DFAILOVERS=1 -DIMPORTS=1 -DMOVES=1 -DNODES=2
guests, failover and a clock that is behind	-DGUESTS -DCALLS=4 -DFAILOVERS=1 -DSLACK=1 -DBEHIND=1 -DNODES=2
guests, lost answers cost no worker id	-DGUESTS -DKEPT -DCALLS=6 -DLOST=3 -DMOVES=0 -DNODES=2
guests, not needed unless the clock is set back: that the last change is over	-DGUESTS -DBUG_FREE_BY_END -DFAILOVERS=1 -DMOVES=1 -DNODES=2
not needed with a synchronous standby: the quarantine	-DSYNC -DBUG_NO_QUARANTINE -DCALLS=4 -DFAILOVERS=1 -DUNCONFIRMED=1 -DNODES=2'

fleet_right_large='
crash	-DCALLS=5 -DCRASHES=1 -DMOVES=3
answers that are lost	-DCALLS=5 -DLOST=2 -DNODES=2
answers that are lost cost no worker id	-DKEPT -DCALLS=5 -DLOST=1 -DNODES=2
nor where clocks differ	-DKEPT -DCALLS=5 -DLOST=1 -DOWN_TIME=4 -DNODES=2
a copy of a memory, and lost answers	-DCALLS=5 -DCOPIES=1 -DLOST=1
a copy of a memory, and releases	-DCALLS=5 -DCOPIES=1 -DRELEASES=1
one identity, crash and lost answers	-DCALLS=5 -DONE_IDENTITY -DCRASHES=1 -DLOST=1
crash and releases	-DCALLS=5 -DRELEASES=2 -DCRASHES=1
failover	-DCALLS=5 -DFAILOVERS=1 -DNODES=2
failover and lost answers	-DCALLS=4 -DFAILOVERS=1 -DLOST=1
failover, and the clock is set back	-DWORKERS=1 -DCALLS=5 -DFAILOVERS=1 -DRELEASES=1 -DSET_BACK=5 -DNODES=2
failover, lost answers and late calls	-DCALLS=4 -DFAILOVERS=1 -DLOST=1 -DLATE=1 -DNODES=2
failover and releases	-DCALLS=4 -DFAILOVERS=1 -DRELEASES=1
failover and crash	-DCALLS=4 -DFAILOVERS=1 -DCRASHES=1 -DNODES=2
failover, one worker id	-DWORKERS=1 -DCALLS=6 -DFAILOVERS=1 -DCRASHES=1 -DMOVES=3 -DNODES=2
failover to a clock that is behind	-DCALLS=5 -DFAILOVERS=1 -DSLACK=1 -DBEHIND=1 -DMOVES=3 -DNODES=2
failover, and nodes whose time is behind	-DCALLS=5 -DFAILOVERS=1 -DOWN_TIME=3 -DNODES=2
failover, and their time is far behind	-DCALLS=5 -DFAILOVERS=1 -DOWN_TIME=4 -DNODES=2
the same, lost answers and late calls	-DCALLS=4 -DFAILOVERS=1 -DOWN_TIME=4 -DLOST=1 -DLATE=1 -DMOVES=1 -DNODES=2
the same, one worker id and releases	-DWORKERS=1 -DCALLS=6 -DFAILOVERS=1 -DOWN_TIME=4 -DRELEASES=1
the same, one worker id and crash	-DWORKERS=1 -DCALLS=5 -DFAILOVERS=1 -DOWN_TIME=4 -DCRASHES=1 -DMOVES=3 -DNODES=2
the same, to a clock that is behind	-DCALLS=4 -DFAILOVERS=1 -DOWN_TIME=4 -DSLACK=1 -DBEHIND=1 -DMOVES=3 -DNODES=2
the same, after a restart	-DCALLS=4 -DRESTARTS=1 -DFAILOVERS=1 -DOWN_TIME=4 -DNODES=2
restart and failover	-DCALLS=5 -DRESTARTS=1 -DFAILOVERS=1 -DNODES=2
failover and import	-DCALLS=4 -DFAILOVERS=1 -DIMPORTS=1 -DNODES=2
failover and import, releases	-DWORKERS=1 -DCALLS=5 -DFAILOVERS=1 -DIMPORTS=1 -DRELEASES=1
failover and import, to a clock that is behind	-DWORKERS=1 -DCALLS=5 -DFAILOVERS=1 -DIMPORTS=1 -DOWN_TIME=4 -DSLACK=1 -DBEHIND=1 -DNODES=2
guests, failover and lost answers	-DGUESTS -DCALLS=4 -DFAILOVERS=1 -DLOST=1 -DNODES=2
guests, failover and releases	-DGUESTS -DCALLS=4 -DFAILOVERS=1 -DRELEASES=1 -DNODES=2
guests, failover to a clock that is behind	-DGUESTS -DCALLS=5 -DFAILOVERS=1 -DSLACK=1 -DBEHIND=1 -DNODES=2
guests, failover, lost answers, late calls, crash	-DGUESTS -DCALLS=4 -DFAILOVERS=1 -DLOST=1 -DLATE=1 -DCRASHES=1 -DMOVES=1 -DNODES=2
guests, and the clock is set back	-DGUESTS -DWORKERS=1 -DCALLS=5 -DFAILOVERS=1 -DRELEASES=1 -DSET_BACK=5 -DNODES=2
guests, not needed unless it is: that the last change is over	-DGUESTS -DBUG_FREE_BY_END -DCALLS=5 -DFAILOVERS=1 -DNODES=2
guests, two failovers with a synchronous standby, lost answers	-DGUESTS -DSYNC -DCALLS=4 -DFAILOVERS=2 -DLOST=1 -DNODES=2
a synchronous standby	-DSYNC -DCALLS=4 -DFAILOVERS=1 -DUNCONFIRMED=1
not needed with a synchronous standby: the quarantine	-DSYNC -DBUG_NO_QUARANTINE -DCALLS=5 -DFAILOVERS=2 -DNODES=2'

switch_right_small='
two buffers	-DTICKETS=3
two buffers, short ranges	-DTICKETS=3 -DFILLS=4 -DSIZE=1
blocks	-DTICKETS=3 -DFILLS=2 -DBLOCKS=1
numbers are taken back	-DTICKETS=3 -DFILLS=2 -DCLOSES=1
another segment	-DTICKETS=2 -DASSIGNS=1'

switch_right_large='
two buffers	-DTICKETS=5
two buffers, short ranges	-DFILLS=5 -DSIZE=1
three callers	-DCALLERS=3 -DTICKETS=4
blocks	-DFILLS=4 -DBLOCKS=1
numbers are taken back	-DCLOSES=1
numbers are taken back twice	-DTICKETS=3 -DCLOSES=2
another segment	-DTICKETS=3 -DASSIGNS=1
numbers are taken back, and another segment	-DTICKETS=2 -DASSIGNS=1 -DCLOSES=1'

segments_right_small='
a release runs again	-DRELEASES=2 -DRESENDS=2
answers that are lost	-DLOST=1 -DRELEASES=1
failover	-DFAILOVERS=1 -DLOST=1
failover and release	-DFAILOVERS=1 -DRELEASES=1 -DRESENDS=1 -DNODES=2
two failovers	-DFAILOVERS=2
two failovers, and the former primary lives on	-DFAILOVERS=2 -DSWAPS=2 -DNODES=2
a snapshot beside its origin	-DSNAPSHOTS=1 -DSWAPS=2 -DRESTARTS=1 -DNODES=2
a snapshot and a failover	-DSNAPSHOTS=1 -DSWAPS=2 -DRESTARTS=1 -DFAILOVERS=1 -DCALLS=3 -DNODES=2
the owner raises what was stopped	-DFAILOVERS=2 -DRAISES=1 -DCALLS=5 -DNODES=2
two failovers, confirmed	-DFAILOVERS=2 -DCONFIRMED -DRELEASES=1 -DNODES=2
three failovers, confirmed	-DFAILOVERS=3 -DCONFIRMED'

segments_right_large='
a release runs again	-DCALLS=5 -DRELEASES=2 -DRESENDS=2
answers that are lost	-DCALLS=5 -DLOST=2 -DRELEASES=2
failover	-DCALLS=6 -DFAILOVERS=1 -DLOST=1
failover and release	-DCALLS=5 -DFAILOVERS=1 -DRELEASES=1 -DRESENDS=1
two failovers	-DCALLS=5 -DFAILOVERS=2 -DLOST=1
two failovers and release	-DFAILOVERS=2 -DRELEASES=1
not needed, but sooner: that a lost history stops it	-DBUG_LOST_HISTORY_IS_BELIEVED -DFAILOVERS=2 -DSWAPS=2 -DCALLS=5 -DNODES=2
three failovers	-DFAILOVERS=3 -DCALLS=5
two failovers, and the former primary lives on	-DFAILOVERS=2 -DSWAPS=2
a snapshot beside its origin	-DSNAPSHOTS=1 -DSWAPS=2 -DRESTARTS=1
a snapshot and a failover	-DSNAPSHOTS=1 -DFAILOVERS=1 -DCALLS=5
a snapshot beside its origin, and a failover	-DSNAPSHOTS=1 -DSWAPS=2 -DRESTARTS=1 -DFAILOVERS=1 -DNODES=2
restarts and release	-DRESTARTS=2 -DRELEASES=1 -DFAILOVERS=1 -DNODES=2
the owner raises what was stopped	-DFAILOVERS=2 -DRAISES=1 -DCALLS=5
two failovers, confirmed	-DFAILOVERS=2 -DCONFIRMED -DCALLS=6 -DNODES=2
three failovers, confirmed	-DFAILOVERS=3 -DCONFIRMED -DCALLS=5 -DRELEASES=1 -DNODES=2'

confirmed_right_small='
all standbys	-DSERVERS=3
two of two, whoever takes over	-DNEEDED=2
one of two, and an election asks both	-DNEEDED=1 -DCONSULTED=2
two servers	-DSERVERS=2 -DCALLS=8 -DFAILOVERS=3'

confirmed_right_large='
all standbys	-DSERVERS=4 -DCALLS=7
three failovers	-DNEEDED=2 -DFAILOVERS=3 -DCALLS=8
three failovers, and an election asks both	-DNEEDED=1 -DCONSULTED=2 -DFAILOVERS=3 -DCALLS=8
three of three, whoever takes over	-DSERVERS=4 -DNEEDED=3
two of three, and an election asks two	-DSERVERS=4 -DNEEDED=2 -DCONSULTED=2'

horizon_right_small='
who reads on, an id each	-DTRANSACTIONS=1 -DPOLLS=1 -DTIME=1
who reads on, ids of a cache	-DWRITERS=1 -DCACHE -DTIME=1
who reads on, prepared transactions	-DWRITERS=1 -DPREPARES -DTIME=1
who reads on, another era	-DWRITERS=1 -DERAS=1 -DTIME=1
who reads on, ids are drawn and held	-DWRITERS=1 -DHOLDS -DTIME=1 -DPOLLS=1
who reads on, ids ahead of the clock	-DWRITERS=1 -DTIME=0 -DTRANSACTIONS=3
who reads on, after a start	-DWRITERS=1 -DSTARTED -DTRANSACTIONS=1 -DTIME=1 -DPOLLS=1
who reads on, ids of before a start	-DWRITERS=1 -DSTARTED -DHOLDS -DTRANSACTIONS=1 -DTIME=0 -DPOLLS=1'

horizon_right_large='
who reads on, an id each	-DTRANSACTIONS=1 -DTIME=1
who reads on, ids of a cache	-DWRITERS=1 -DCACHE -DTRANSACTIONS=3
who reads on, prepared transactions	-DPREPARES -DTRANSACTIONS=1 -DPOLLS=1 -DTIME=1
who reads on, another era	-DWRITERS=1 -DERAS=2
who reads on, the clock is set back	-DWRITERS=1 -DSTEPS=1 -DTIME=1
who reads on, ids are drawn and held	-DWRITERS=1 -DHOLDS -DTIME=1
who reads on, ids are drawn and held by two	-DHOLDS -DTRANSACTIONS=1 -DTIME=1 -DPOLLS=1
who reads on, ids are drawn and held, the clock is set back	-DWRITERS=1 -DHOLDS -DSTEPS=1 -DTIME=0 -DPOLLS=1
who reads on, ids are drawn and held by a parallel worker, too	-DWRITERS=1 -DHOLDS -DWORKER -DTIME=1 -DPOLLS=1
who reads on, after a start	-DWRITERS=1 -DSTARTED -DTRANSACTIONS=1 -DTIME=1 -DPOLLS=1
who reads on, ids of before a start	-DWRITERS=1 -DSTARTED -DHOLDS -DTIME=1 -DPOLLS=0
who reads on, ids of before a start and a step	-DWRITERS=1 -DSTARTED -DHOLDS -DSTEPS=1 -DTIME=1 -DPOLLS=0'

eras_right_small='
late notes of the clock	-DCALLERS=1 -DLOOKS=3
late notes of the clock, more eras	-DCALLERS=1 -DLOOKS=1 -DMARKS=8'

eras_right_large='
late notes of the clock, two callers	-DLOOKS=1
late notes of the clock, many eras	-DCALLERS=1 -DMARKS=16'

edition_right_small='
draws beside jumps	-DDRAWS=3 -DENDS=0 -DCLOCKS=0
draws beside jumps that are ended	-DDRAWERS=2 -DDRAWS=2'

edition_right_large='
draws beside jumps that are ended	-DDRAWS=3 -DCLOCKS=0
draws beside jumps, and the clock moves	-DDRAWS=3 -DENDS=0
draws beside jumps and batches	-DDRAWS=3 -DBATCHES=1 -DENDS=0 -DCLOCKS=0
draws beside jumps and batches that are ended, and the clock moves	-DDRAWERS=2 -DDRAWS=3 -DBATCHES=1'

# What must be found, and the bounds that suffice for it.
wrong='
TWO_KEEPERS	-DLEAPS=1 -DTICKETS=3 -DCALLERS=1
TICKET_NOT_ATOMIC	-DTICKETS=2
NO_LIMIT_CHECK	-DTICKETS=3
NOT_EARLY	-DBURST=0 -DATTEMPTS=1 -DTICKETS=3
NO_ERA_RECHECK	-DRELEASES=1 -DCALLERS=1
ERA_NOT_ODD	-DLEAPS=1 -DCALLERS=1
CONSTANT_AFTER_EVEN	-DLEAPS=1 -DCLOCKS=1 -DCALLERS=1
POSITION_READ_BEFORE_ERA_ODD	-DRELEASES=1 -DCALLERS=1
RELEASE_BEFORE_ERA_ODD	-DRELEASES=1 -DCALLERS=1
RELEASE_WITHOUT_TOKEN	-DOTHERS=1 -DRELEASES=1 -DCALLERS=1
NO_TOKEN	-DOTHERS=1 -DTICKETS=3 -DCALLERS=1
PUBLISH_BEFORE_COMMIT	-DTICKETS=3 -DCALLERS=1
NO_FLOOR	-DLEAPS=1 -DCALLERS=1
NO_KNOWN	-DBACKS=1 -DSTART=9 -DCLOCKS=2 -DCALLERS=1
NOT_ABOVE_OLD_GRANT	-DCRASHES=1 -DCALLERS=1
NOTED_WITHOUT_MARK	-DSTART=2 -DFAR=5 -DWINDOW=3 -DTHERE_AND_BACK -DCLOCKS=2 -DSTEADY
REOPENED_WITHOUT_CLOSE	-DRELOADS=1 -DATTEMPTS=2 -DCALLERS=1
RENEWED_IN_COPY	-DCOPIES=1 -DTICKETS=3 -DCALLERS=1
COPY_IS_OURS	-DCOPIES=1 -DCALLERS=1'

wrong_large='
POSITION_READ_BEFORE_ERA_ODD	-DLEAPS=1 -DCALLERS=1
NOTED_BY_WRITE	-DTHERE_AND_BACK -DCLOCKS=2 -DSTEADY
CLOCK_BEFORE_ERA	-DSTART=2 -DFAR=5 -DWINDOW=3 -DTHERE_AND_BACK -DCLOCKS=2 -DSTEADY'

barriers_wrong='
NO_BARRIER_AFTER_ERA	-DSET_BACK=1 -DCALLERS=1 -DTICKETS=1
NO_BARRIER_AFTER_ERA	-DLOWERED=1 -DCALLERS=1
NO_BARRIER_BEFORE_ERA	-DCALLERS=1
NO_BARRIER_BEFORE_EVEN	-DCALLERS=1
POSITION_ONLY_READ	-DCALLERS=1'

fleet_wrong='
RENEW_STALE	-DFAILOVERS=1 -DNODES=2
RENEW_WITHOUT_TOKEN	-DCOPIES=1 -DNODES=2
CLAIM_STALE	-DCALLS=5 -DFAILOVERS=1 -DNODES=2
CLAIM_ABOVE_ROW_ONLY	-DCALLS=5 -DFAILOVERS=1 -DNODES=2
CLAIM_OF_RELEASED	-DWORKERS=1 -DCALLS=6 -DFAILOVERS=1 -DRELEASES=1 -DLEAD=1
BY_END_ALONE	-DKEPT -DOWN_TIME=4 -DMOVES=1 -DNODES=2
FREE_BY_END	-DFAILOVERS=1 -DOWN_TIME=4 -DMOVES=1 -DNODES=2
FREE_AT_ONCE	-DCALLS=5 -DFAILOVERS=1 -DNODES=2
FREE_WITHOUT_SLACK	-DSLACK=1 -DBEHIND=1 -DCALLS=5 -DFAILOVERS=1 -DMOVES=3 -DNODES=2
NO_CLAMP	-DCALLS=6 -DFAILOVERS=1 -DMOVES=0 -DNODES=2
QUARANTINE_BEYOND_CLAMP	-DRESTARTS=1 -DFAILOVERS=1 -DCALLS=5 -DMOVES=1 -DNODES=2
NO_QUARANTINE	-DFAILOVERS=1 -DNODES=2
QUARANTINE_FROM_ITS_END	-DCALLS=5 -DFAILOVERS=1 -DNODES=2
QUARANTINE_WITHOUT_SLACK	-DSLACK=1 -DBEHIND=1 -DCALLS=5 -DFAILOVERS=1 -DNODES=2
QUARANTINE_FORGOTTEN	-DOWN_TIME=3 -DCALLS=5 -DFAILOVERS=1 -DMOVES=3 -DNODES=2
UNCONFIRMED_USED	-DSYNC -DBUG_NO_QUARANTINE -DFAILOVERS=1 -DUNCONFIRMED=1
TOKEN_NOT_PROPOSED	-DKEPT -DCALLS=5 -DLOST=1 -DNODES=2
IMPORT_KEEPS_TOKEN	-DWORKERS=1 -DFAILOVERS=1 -DIMPORTS=1 -DMOVES=1 -DNODES=2
IMPORT_BEYOND_CLAMP	-DWORKERS=1 -DFAILOVERS=1 -DIMPORTS=1 -DMOVES=1 -DNODES=2
RELEASE_LOWERS	-DRELEASES=1 -DCOPIES=1
RENEW_STALE	-DGUESTS -DFAILOVERS=1 -DNODES=2
RENEW_WITHOUT_TOKEN	-DGUESTS -DCOPIES=1 -DNODES=2
CLAIM_STALE	-DGUESTS -DCALLS=5 -DFAILOVERS=1 -DNODES=2
CLAIM_ABOVE_ROW_ONLY	-DGUESTS -DCALLS=5 -DFAILOVERS=1 -DNODES=2
CLAIM_OF_RELEASED	-DGUESTS -DWORKERS=1 -DCALLS=6 -DFAILOVERS=1 -DRELEASES=1 -DLEAD=1
FREE_BY_END	-DGUESTS -DWORKERS=1 -DCALLS=5 -DFAILOVERS=1 -DRELEASES=1 -DSET_BACK=5 -DNODES=2
FREE_AT_ONCE	-DGUESTS -DCALLS=5 -DFAILOVERS=1 -DNODES=2
FREE_WITHOUT_SLACK	-DGUESTS -DSLACK=1 -DBEHIND=1 -DCALLS=5 -DFAILOVERS=1 -DMOVES=3 -DNODES=2
NO_CLAMP	-DGUESTS -DCALLS=6 -DFAILOVERS=1 -DMOVES=0 -DNODES=2
QUARANTINE_BEYOND_CLAMP	-DGUESTS -DRESTARTS=1 -DFAILOVERS=1 -DCALLS=5 -DMOVES=1 -DNODES=2
NO_QUARANTINE	-DGUESTS -DFAILOVERS=1 -DNODES=2
QUARANTINE_FROM_ITS_END	-DGUESTS -DCALLS=5 -DFAILOVERS=1 -DNODES=2
QUARANTINE_WITHOUT_SLACK	-DGUESTS -DSLACK=1 -DBEHIND=1 -DCALLS=5 -DFAILOVERS=1 -DNODES=2
UNCONFIRMED_USED	-DGUESTS -DSYNC -DBUG_NO_QUARANTINE -DFAILOVERS=1 -DUNCONFIRMED=1 -DNODES=2
RELEASE_LOWERS	-DGUESTS -DRELEASES=1 -DCOPIES=1 -DNODES=2
TOKEN_NOT_PROPOSED	-DGUESTS -DKEPT -DCALLS=5 -DLOST=1 -DNODES=2'

switch_wrong='
NO_SEGMENT	-DTICKETS=2 -DFILLS=2 -DASSIGNS=1
SEGMENT_BEFORE_POSITION	-DTICKETS=2 -DFILLS=2 -DASSIGNS=1
SETTLE_WITHOUT_SEGMENT	-DTICKETS=2 -DFILLS=2 -DASSIGNS=1
ASSIGN_WITHOUT_CLOSE	-DTICKETS=2 -DFILLS=2 -DASSIGNS=1
ASSIGN_BEFORE_CLOSE	-DTICKETS=2 -DFILLS=2 -DASSIGNS=1
NO_ERA	-DTICKETS=3 -DFILLS=2 -DCLOSES=1
CLOSE_BY_READ	-DTICKETS=2 -DFILLS=2 -DCLOSES=1
CLOSE_BY_ONE	-DTICKETS=3 -DFILLS=2 -DCLOSES=1
NO_GATE	-DTICKETS=3
TICKET_NOT_ATOMIC	-DTICKETS=3
SEAM_BY_WRITE	-DTICKETS=3
NO_GENERATION	-DTICKETS=3 -DSIZE=1
FIRST_AFTER_TICKET	-DTICKETS=3 -DFILLS=4 -DSIZE=1
SETTLE_WITHOUT_ERA	-DFILLS=4 -DBLOCKS=1
FILL_NOT_ODD	-DFILLS=4 -DBLOCKS=1
EVEN_FIRST	-DTICKETS=3'

segments_wrong='
RELEASE_BY_VALUE	-DRELEASES=1 -DRESENDS=1
JUMP_KEEPS_VERSION	-DFAILOVERS=1 -DRELEASES=1 -DNODES=2
UNKNOWN_IS_BELIEVED	-DFAILOVERS=2 -DNODES=2
FORMER_IS_BELIEVED	-DSNAPSHOTS=1 -DSWAPS=2 -DNODES=2
PARTED_AT_END	-DSNAPSHOTS=1 -DSWAPS=2 -DNODES=2
NO_REIGN_AT_START	-DSNAPSHOTS=1 -DSWAPS=2 -DNODES=2
STOP_NOT_WRITTEN	-DFAILOVERS=2 -DCALLS=5 -DNODES=2
UNCONFIRMED_KEEPS_VERSION	-DCONFIRMED -DFAILOVERS=1 -DRELEASES=1 -DNODES=2
CONFIRMED_BY_ITSELF	-DCONFIRMED -DFAILOVERS=2 -DCALLS=6 -DNODES=2
LIMIT_GAP_TOO_SMALL	-DFAILOVERS=1 -DGAP=4
LIMIT_TWO_FAILOVERS	-DFAILOVERS=2 -DNODES=2'

# LIMIT_...: with no rule broken, what is not promised.
confirmed_wrong='
ANY_STANDBY	-DCALLS=6
FOLLOWERS_ALONE	-DCALLS=6
FORMER_ONES_ALONE	-DCALLS=6
LIMIT_TOO_FEW	-DNEEDED=1
LIMIT_TOO_FEW_OF_THREE	-DSERVERS=4 -DNEEDED=2
LIMIT_UNNOTED	-DUNNOTED
LIMIT_CAME_MEANWHILE	-DFAILOVERS=3 -DCALLS=8'

horizon_wrong='
NO_BOUND	-DWRITERS=1 -DTIME=1
BOUND_GOES_FIRST	-DTRANSACTIONS=1 -DTIME=1
ANY_SNAPSHOT	-DTRANSACTIONS=1 -DTIME=1
CACHE_UNCHECKED	-DWRITERS=1 -DCACHE -DTIME=1
PREPARE_FORGETS	-DWRITERS=1 -DPREPARES -DTRANSACTIONS=1 -DTIME=1
TABLE_FIRST	-DWRITERS=1 -DPREPARES -DTRANSACTIONS=1 -DTIME=1
BOUND_STAYS	-DWRITERS=1 -DSTEPS=1 -DTIME=1
STEP_UNNOTICED	-DWRITERS=1 -DSTEPS=1 -DTIME=1
ERA_UNCHECKED	-DWRITERS=1 -DSTEPS=1 -DTIME=1
AHEAD_OF_CLOCK	-DWRITERS=1 -DTIME=0 -DTRANSACTIONS=3
KNOWN_IN_RECOVERY	-DWRITERS=1 -DSTARTED -DTRANSACTIONS=1 -DTIME=1
HELD_BEFORE_GRANT	-DWRITERS=1 -DSTARTED -DHOLDS -DTRANSACTIONS=1 -DTIME=0 -DPOLLS=0
START_FORGETS	-DWRITERS=1 -DSTARTED -DHOLDS -DTRANSACTIONS=1 -DTIME=0 -DPOLLS=0
HOLDS_BEFORE_GRANT	-DWRITERS=1 -DSTARTED -DHOLDS -DTRANSACTIONS=1 -DTIME=0 -DPOLLS=1
HELD_UNCONFIRMED	-DWRITERS=1 -DHOLDS -DTIME=1 -DPOLLS=1
HELD_UNCHECKED	-DWRITERS=1 -DHOLDS -DTIME=1 -DPOLLS=1
CONFIRMED_BY_POSITION	-DWRITERS=1 -DHOLDS -DTIME=1 -DPOLLS=1
CONFIRMED_FOR_GOOD	-DWRITERS=1 -DHOLDS -DTIME=1 -DPOLLS=1
BOUND_RAISED	-DWRITERS=1 -DHOLDS -DWORKER -DTIME=1 -DPOLLS=1
ACCEPTED_FROM_NOTHING	-DWRITERS=1 -DSTARTED -DHOLDS -DSTEPS=1 -DTIME=1 -DPOLLS=0'

# LIMIT_...: with no rule broken, what is not promised.
eras_wrong='
NO_MARK	-DCALLERS=1 -DLOOKS=1
NOTED_BY_WRITE	-DCALLERS=1 -DLOOKS=1
CLOCK_BEFORE_ERA	-DCALLERS=1 -DLOOKS=1
BASE_BEFORE_ERA	-DCALLERS=1 -DLOOKS=1
LIMIT_ALL_MARKS_PASS	-DCALLERS=1 -DLOOKS=1 -DERAS=4'

edition_wrong='
NO_LOOK_BEFORE	-DDRAWS=3 -DENDS=0 -DCLOCKS=0
NO_LOOK_AFTER	-DDRAWS=3 -DENDS=0 -DCLOCKS=0
NO_CLOSING	-DDRAWS=3 -DENDS=0 -DCLOCKS=0
LOOK_BEFORE_CLOSING	-DDRAWS=3 -DENDS=0 -DCLOCKS=0
BACK	-DDRAWS=3 -DENDS=0 -DCLOCKS=0
NO_LOCK	-DDRAWS=3 -DENDS=0 -DCLOCKS=0'

fleet_wrong_large='
LIMIT_TWO_FAILOVERS	-DCALLS=5 -DFAILOVERS=2 -DNODES=2
LIMIT_TWO_FAILOVERS	-DGUESTS -DWORKERS=1 -DCALLS=6 -DFAILOVERS=2 -DNODES=2
LIMIT_NOT_NOTICED	-DNOTICED=0 -DFAILOVERS=1 -DNODES=2
LIMIT_COPY_AND_FAILOVER	-DCALLS=5 -DCOPIES=1 -DFAILOVERS=1
LIMIT_ONE_IDENTITY_AND_FAILOVER	-DCALLS=5 -DONE_IDENTITY -DFAILOVERS=1
LIMIT_CLOCK_FURTHER_BEHIND	-DSLACK=1 -DBEHIND=2 -DCALLS=5 -DFAILOVERS=1 -DMOVES=3 -DNODES=2'

# Small searches are over before an optimizer would be.
case ${MODEL-small} in
small | rules)
	right=$right_small barriers_right=$barriers_right_small fleet_right=$fleet_right_small
	switch_right=$switch_right_small segments_right=$segments_right_small confirmed_right=$confirmed_right_small
	horizon_right=$horizon_right_small
	edition_right=$edition_right_small
	eras_right=$eras_right_small optimize=-O0 megabytes=1000 ;;
large)
	right=$right_large barriers_right=$barriers_right_large fleet_right=$fleet_right_large
	switch_right=$switch_right_large segments_right=$segments_right_large confirmed_right=$confirmed_right_large
	horizon_right=$horizon_right_large
	edition_right=$edition_right_large
	eras_right=$eras_right_large optimize=-O2 megabytes=3000
	wrong=$wrong$wrong_large fleet_wrong=$fleet_wrong$fleet_wrong_large ;;
*) echo "Bail out! MODEL is small, rules or large"; exit 1 ;;
esac
[ "${MODEL-small}" != small ] || wrong= barriers_wrong= fleet_wrong= switch_wrong= segments_wrong= confirmed_wrong= horizon_wrong= eras_wrong= edition_wrong=

# search BOUNDS...: in the file $model; what the checker says is in the file log.
search()
{
	rm -f *.trail
	{
		spin -a "$@" "$models/$model" &&
			gcc $optimize -DSAFETY -DNOFAIR -DCOLLAPSE -DMEMLIM=$megabytes -o pan pan.c &&
			./pan -w20 -m100000
	} >log 2>&1
}

searched_to_the_end()
{
	grep -q 'errors: 0$' log &&
		! grep -Eq 'Search not completed|max search depth too small|out of memory' log
}

# verdict WORD NAME: a line of TAP; after a failure the log and the trail.
verdict()
{
	number=$((number + 1))
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' log)
	echo "$1 $number - $2, ${states:-no} states"
	[ "$1" != ok ] || return 0
	failed=yes
	shift 2
	sed -e '/^unreached/,$d' -e 's/^/# /' log | head -n 40
	if [ -f "$model.trail" ]; then
		spin -p -k "$model.trail" "$@" "$models/$model" | sed 's/^/# /' | tail -n 500
	fi
}

try_right()
{
	while IFS=$tab read -r model name bounds; do
		search $bounds
		if searched_to_the_end; then
			verdict ok "$name ($bounds)" $bounds
		else
			verdict 'not ok' "$name ($bounds)" $bounds
		fi
	done
	[ -z "$failed" ]
}

try_wrong()
{
	while IFS=$tab read -r model rule bounds; do
		search "-DBUG_$rule" $bounds
		found=$(sed -n 's/^pan.*assertion violated \([PR][0-9]_[a-z]*\).*/\1/p' log)
		if [ -n "$found" ]; then
			verdict ok "$rule breaks $found"
		else
			verdict 'not ok' "$rule is not found ($bounds)"
		fi
	done
	[ -z "$failed" ]
}

failed=
tab=$(printf '\t')
# By the model's file, in one list each.
{
	printf '%s\n' "$right" | sed "1d; s/^/generator.pml$tab/"
	printf '%s\n' "$barriers_right" | sed "1d; s/^/barriers.pml$tab/"
	printf '%s\n' "$fleet_right" | sed "1d; s/^/fleet.pml$tab/"
	printf '%s\n' "$switch_right" | sed "1d; s/^/switch.pml$tab/"
	printf '%s\n' "$segments_right" | sed "1d; s/^/segments.pml$tab/"
	printf '%s\n' "$confirmed_right" | sed "1d; s/^/confirmed.pml$tab/"
	printf '%s\n' "$horizon_right" | sed "1d; s/^/horizon.pml$tab/"
	printf '%s\n' "$eras_right" | sed "1d; s/^/eras.pml$tab/"
	printf '%s\n' "$edition_right" | sed "1d; s/^/edition.pml$tab/"
} >right.list
{
	printf '%s\n' "$wrong" | sed "1d; s/^/generator.pml$tab/"
	printf '%s\n' "$barriers_wrong" | sed "1d; s/^/barriers.pml$tab/"
	printf '%s\n' "$fleet_wrong" | sed "1d; s/^/fleet.pml$tab/"
	printf '%s\n' "$switch_wrong" | sed "1d; s/^/switch.pml$tab/"
	printf '%s\n' "$segments_wrong" | sed "1d; s/^/segments.pml$tab/"
	printf '%s\n' "$confirmed_wrong" | sed "1d; s/^/confirmed.pml$tab/"
	printf '%s\n' "$horizon_wrong" | sed "1d; s/^/horizon.pml$tab/"
	printf '%s\n' "$eras_wrong" | sed "1d; s/^/eras.pml$tab/"
	printf '%s\n' "$edition_wrong" | sed "1d; s/^/edition.pml$tab/"
} >wrong.list
count=$(grep -c . right.list)
echo "1..$((count + $(grep -c . wrong.list)))"

# Both at a time, each in a folder of its own.
mkdir right wrong
(number=$count; cd wrong && try_wrong <../wrong.list) >wrong.tap &
trap 'kill $! 2>/dev/null; rm -rf "$dir"' EXIT
(number=0; cd right && try_right <../right.list)
status=$?
wait $! || status=1
cat wrong.tap
exit $status
