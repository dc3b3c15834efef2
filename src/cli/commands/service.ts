import type { Command } from 'commander';
import { findRunning, stopRunning } from '../background.ts';
import { type AddCommand, globalFlags, withGlobalFlags } from '../command.ts';
import { planService, runAsService } from '../run-as-service.ts';
import { canInstall, isActive, isInstalled, serviceOf, uninstallService } from '../service.ts';
import { dataDirOf } from '../target.ts';
import { createTerminal } from '../terminal.ts';

/** The aggregator as a service of this user: it runs after every login. */
export const addService: AddCommand = (program, environment) => {
  const group = program
    .command('service')
    .description('run the aggregator whenever you are logged in (systemd, launchd, Task Scheduler)');
  const setUp = (self: Command) => {
    const flags = globalFlags(self);
    const terminal = createTerminal({ json: flags.json === true, environment });
    return { flags, terminal, service: serviceOf(dataDirOf(flags, environment), environment) };
  };

  withGlobalFlags(group.command('install'))
    .description('install and start the service')
    .option('--print', 'only print the file')
    .action(async (options: { print?: boolean }, self: Command) => {
      const { flags, terminal } = setUp(self);
      if (options.print) return terminal.print(contentOf((await planService(flags, environment)).content));
      const { service, target } = await terminal.progress('installing', () => runAsService(flags, environment));
      const { url } = target;
      if (terminal.json) return terminal.printJson({ installed: true, file: service.file, url });
      terminal.print(`The ${service.title} is installed (${service.file}). The aggregator is running at ${url}`);
    });

  withGlobalFlags(group.command('uninstall'))
    .description('stop and remove the service')
    .action(async (_options, self: Command) => {
      const { flags, terminal, service } = setUp(self);
      const existed = uninstallService(service, environment);
      if (existed) await stopRunning(flags, environment);
      if (terminal.json) return terminal.printJson({ uninstalled: existed, file: service.file });
      terminal.print(existed ? `The ${service.title} is removed.` : 'No service is installed.');
    });

  withGlobalFlags(group.command('status'))
    .description('show whether the service is installed and the aggregator is running')
    .action(async (_options, self: Command) => {
      const { flags, terminal, service } = setUp(self);
      const running = await findRunning(flags, environment);
      const installed = isInstalled(service);
      const active = installed && isActive(service, environment);
      if (terminal.json) {
        return terminal.printJson({ installed, active, file: service.file, url: running?.url ?? null });
      }
      const state = installed ? `installed (${service.file}), ${active ? 'active' : 'not active'}` : 'not installed';
      terminal.print(
        `${service.title}: ${state}${installed || canInstall(service, environment) ? '' : '; not available here'}`,
      );
      terminal.print(`aggregator: ${running === undefined ? 'not running' : `running at ${running.url}`}`);
    });
};

const contentOf = (content: string | Buffer) =>
  typeof content === 'string' ? content : content.toString('utf16le').slice(1);
