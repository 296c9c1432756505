#!/usr/bin/perl
# The `sendmail` of apps: hands a message to the relay of the platform, for programs that speak no SMTP themselves, such as PHP's mail(). It knows the options that such
# programs use, and takes a message for all of its recipients or for none. It keeps no queue: once it has ended well, the relay has the message.
use strict;
use warnings;
use IO::Socket::INET;
use POSIX qw(strftime);

# As every sendmail ends, so that programs know whether to try again (sysexits.h).
my %codes = (usage => 64, data => 65, unavailable => 69, later => 75);
my $patience_seconds = 60;

my ($from, $reads_recipients, $dots_stay, @recipients);
read_options(@ARGV);
my ($headers, $body) = read_message();
complete_headers();
end(data => 'say for whom it is') if !@recipients;
end(data => "$_ cannot be an address") for grep { !/^[^\s<>]*$|^"[^"<>]*"\@[^\s<>]+$/ } $from, @recipients;
hand_over($ENV{PLATFORM_SMTP_HOST} || end(unavailable => 'outgoing mail is off in this environment'));

sub end {
  my ($why, $sentence) = @_;
  print STDERR "sendmail: $sentence\n";
  exit $codes{$why};
}

sub read_options {
  my @given = @_;
  while (@given) {
    my $option = shift @given;
    if ($option eq '--') { push @recipients, splice @given }
    elsif ($option =~ /^-[ti]+$/) { $reads_recipients ||= $option =~ /t/; $dots_stay ||= $option =~ /i/ }
    elsif ($option eq '-oi') { $dots_stay = 1 }
    elsif ($option =~ /^-[fr](.*)$/s) { $from = $1 ne '' ? $1 : shift @given // ''; $from =~ s/^<(.*)>$/$1/ }
    # What a name, a kind of body or a notification is to be, is for the message to say.
    elsif ($option =~ /^-[FBNRV](.*)$/s) { shift @given if $1 eq '' }
    elsif ($option =~ /^-(?:o.*|bm|v|n|m)$/) { }
    elsif ($option =~ /^-/) { end(usage => "there is no option $option here") }
    else { push @recipients, addresses($option) }
  }
}

# Headers as they are, each with the lines that continue it, and the lines after them.
sub read_message {
  binmode STDIN;
  my (@headers, @body, $is_body);
  while (my $line = <STDIN>) {
    $line =~ s/\r?\n$//;
    last if $line eq '.' && !$dots_stay;
    if ($is_body) { push @body, $line }
    elsif ($line eq '') { $is_body = 1 }
    elsif ($line =~ /^[ \t]/ && @headers) { $headers[-1] .= "\n$line" }
    elsif ($line =~ /^[!-9;-~]+[ \t]*:/) { push @headers, $line }
    else { ($is_body, @body) = (1, $line) }
  }
  return (\@headers, \@body);
}

sub values_of {
  my ($name) = @_;
  return map { /^\Q$name\E[ \t]*:(.*)$/is ? $1 : () } @$headers;
}

sub complete_headers {
  @recipients = map { addresses($_) } map { values_of($_) } qw(To Cc Bcc) if $reads_recipients;
  @$headers = grep { !/^Bcc[ \t]*:/i } @$headers;
  ($from) = map { addresses($_) } map { values_of($_) } qw(Sender From) if !defined $from;
  end(data => 'say who it is from, with the option -f or a header From') if !defined $from;
  my $domain = $from =~ /\@([^@]+)$/ ? $1 : 'localhost';
  my %missing = (
    From => "<$from>",
    Date => strftime('%a, %d %b %Y %H:%M:%S +0000', gmtime),
    'Message-ID' => sprintf('<%x.%x.%x@%s>', time, $$, int rand 2**32, $domain),
  );
  push @$headers, map { "$_: $missing{$_}" } grep { !values_of($_) } sort keys %missing;
}

# The addresses of a list as headers have it: with names, quotes, comments and groups.
sub addresses {
  my ($list) = @_;
  my ($plain, $bracketed, @found) = ('');
  my $next = sub {
    my $address = $bracketed // $plain;
    $address =~ s/^\s+|\s+$//g;
    push @found, $address if $address ne '';
    ($plain, $bracketed) = ('', undef);
  };
  while ($list =~ /\G(?:("(?:[^"\\]|\\.)*")|(\((?:[^()\\]|\\.|(?2))*\))|<([^<>]*)>|(.))/gs) {
    if (defined $1) { $plain .= $1 }
    elsif (defined $3) { $bracketed = $3 }
    elsif (!defined $4) { }
    elsif ($4 eq ',' || $4 eq ';') { $next->() }
    elsif ($4 eq ':') { $plain = '' }
    else { $plain .= $4 }
  }
  $next->();
  return @found;
}

sub hand_over {
  my ($host) = @_;
  my $relay = IO::Socket::INET->new(PeerAddr => $host, PeerPort => 25, Proto => 'tcp', Timeout => $patience_seconds)
    or end(later => "the relay is not reached: $@");
  local $SIG{ALRM} = sub { end(later => 'the relay does not answer') };
  my $say = sub {
    my ($line) = @_;
    print $relay "$line\r\n" if defined $line;
    alarm $patience_seconds;
    while (defined(my $reply = <$relay>)) {
      next if $reply =~ /^\d{3}-/;
      alarm 0;
      return if $reply =~ /^[23]/;
      $reply =~ s/\s+$//;
      end($reply =~ /^4/ ? 'later' : 'unavailable', $reply);
    }
    end(later => 'the relay went away');
  };
  my $is_utf8 = grep { /[^\x00-\x7f]/ } $from, @recipients;
  $say->();
  $say->('EHLO app');
  $say->("MAIL FROM:<$from> BODY=8BITMIME" . ($is_utf8 ? ' SMTPUTF8' : ''));
  $say->("RCPT TO:<$_>") for @recipients;
  $say->('DATA');
  for my $line ((map { split /\n/ } @$headers), '', @$body) {
    print $relay ($line =~ /^\./ ? '.' : ''), $line, "\r\n";
  }
  $say->('.');
  print $relay "QUIT\r\n";
}
