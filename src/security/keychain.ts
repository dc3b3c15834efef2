/** Secrets in the keychain of this user: libsecret on Linux, the keychain of macOS, the credential manager of Windows. */
import { systemProgram } from '../windows-process.ts';
import { CommandError, runForOutput } from './command-output.ts';

const service = 'mcp-aggregator';

/** What the platform's own tool is asked; a secret is never an argument, which every user of the host can read. */
interface KeychainTool {
  read(name: string): [command: string, ...args: string[]];
  store(name: string, value: string): { command: [command: string, ...args: string[]]; input: string };
  remove(name: string): [command: string, ...args: string[]];
  /** Where to get it. */
  advice: string;
}

const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`;

const tools: Partial<Record<NodeJS.Platform, KeychainTool>> = {
  linux: {
    read: (name) => ['secret-tool', 'lookup', 'service', service, 'name', name],
    store: (name, value) => ({
      command: ['secret-tool', 'store', `--label=${service}: ${name}`, 'service', service, 'name', name],
      input: value,
    }),
    remove: (name) => ['secret-tool', 'clear', 'service', service, 'name', name],
    advice: 'install libsecret-tools (Debian, Ubuntu) or libsecret (Fedora, Arch), and a keyring such as gnome-keyring',
  },
  darwin: {
    read: (name) => ['/usr/bin/security', 'find-generic-password', '-s', service, '-a', name, '-w'],
    store: (name, value) => ({
      command: ['/usr/bin/security', '-i'],
      input: `add-generic-password -U -s ${service} -a ${quoted(name)} -w ${quoted(value)}\n`,
    }),
    remove: (name) => ['/usr/bin/security', 'delete-generic-password', '-s', service, '-a', name],
    advice: 'it is a part of macOS',
  },
  win32: {
    read: (name) => powershell('read', name),
    store: (name, value) => ({ command: powershell('write', name), input: value }),
    remove: (name) => powershell('delete', name),
    advice: 'Windows PowerShell is a part of Windows',
  },
};

export interface Keychain {
  /** Undefined where there is no such secret. */
  read(name: string): Promise<string | undefined>;
  store(name: string, value: string): Promise<void>;
  /** False where there was none. */
  remove(name: string): Promise<boolean>;
}

/** Throws a `CommandError` where this host has no keychain. */
export function createKeychain(environment: Readonly<NodeJS.ProcessEnv>, platform = process.platform): Keychain {
  function tool(): KeychainTool {
    const found = tools[platform];
    if (found === undefined) throw new CommandError(`${platform} has no keychain that is supported`);
    return found;
  }

  async function run(command: readonly [string, ...string[]], input?: string): Promise<string | undefined> {
    try {
      return await explained(runForOutput(command, { environment, input }), command);
    } catch (error) {
      if (!(error instanceof CommandError) || error.isMissing) throw error;
      if (error.isSilent || platform !== 'linux') return undefined;
      throw error;
    }
  }

  async function explained(output: Promise<string>, [program]: readonly [string, ...string[]]): Promise<string> {
    try {
      return await output;
    } catch (error) {
      if (!(error instanceof CommandError) || !error.isMissing) throw error;
      throw new CommandError(`${program} was not found: ${tool().advice}`, { cause: error, isMissing: true });
    }
  }

  return {
    async read(name) {
      const value = await run(tool().read(name));
      return value === undefined || value === '' ? undefined : value;
    },
    async store(name, value) {
      const { command, input } = tool().store(name, value);
      await explained(runForOutput(command, { environment, input }), command);
    },
    remove: async (name) => (await run(tool().remove(name))) !== undefined,
  };
}

/** Windows has a tool that stores (cmdkey) but none that reads; PowerShell calls the system's functions. */
function powershell(act: 'read' | 'write' | 'delete', name: string): [string, ...string[]] {
  const target = `${service}:${name}`.replaceAll("'", "''");
  const script = `${credentialType}\n[Credentials]::${act}('${target}')`;
  const encoded = Buffer.from(script, 'utf16le').toString('base64');
  return [
    systemProgram('WindowsPowerShell\\v1.0\\powershell.exe'),
    '-NoProfile',
    '-NonInteractive',
    '-EncodedCommand',
    encoded,
  ];
}

const credentialType = `
$ErrorActionPreference = 'Stop'
Add-Type -TypeDefinition @'
using System;
using System.Runtime.InteropServices;
using System.Text;
public static class Credentials {
  [StructLayout(LayoutKind.Sequential, CharSet = CharSet.Unicode)]
  struct Credential {
    public int Flags; public int Type; public string TargetName; public string Comment; public long LastWritten;
    public int BlobSize; public IntPtr Blob; public int Persist; public int AttributeCount; public IntPtr Attributes;
    public string TargetAlias; public string UserName;
  }
  [DllImport("advapi32", CharSet = CharSet.Unicode, SetLastError = true)]
  static extern bool CredRead(string target, int type, int flags, out IntPtr credential);
  [DllImport("advapi32", CharSet = CharSet.Unicode, SetLastError = true)]
  static extern bool CredWrite(ref Credential credential, int flags);
  [DllImport("advapi32", CharSet = CharSet.Unicode, SetLastError = true)]
  static extern bool CredDelete(string target, int type, int flags);
  public static void read(string target) {
    IntPtr found;
    if (!CredRead(target, 1, 0, out found)) Environment.Exit(1);
    var credential = (Credential)Marshal.PtrToStructure(found, typeof(Credential));
    var bytes = new byte[credential.BlobSize];
    Marshal.Copy(credential.Blob, bytes, 0, bytes.Length);
    Console.OutputEncoding = new UTF8Encoding(false);
    Console.Out.Write(Encoding.Unicode.GetString(bytes));
  }
  public static void write(string target) {
    Console.InputEncoding = new UTF8Encoding(false);
    var bytes = Encoding.Unicode.GetBytes(Console.In.ReadToEnd());
    var credential = new Credential { Type = 1, TargetName = target, UserName = "mcp-aggregator", Persist = 2,
      BlobSize = bytes.Length, Blob = Marshal.AllocHGlobal(bytes.Length) };
    Marshal.Copy(bytes, 0, credential.Blob, bytes.Length);
    if (!CredWrite(ref credential, 0)) Environment.Exit(2);
  }
  public static void delete(string target) { if (!CredDelete(target, 1, 0)) Environment.Exit(1); }
}
'@
`;
