# activerecord.rb: Rails' Active Record, as docs/applications.md has it.
require "active_record"
require "active_record/schema_dumper"
require "stringio"

def check(name, passed)
  puts "#{passed ? 'ok' : 'not ok'} - #{name}"
end

def increase(ids)
  ids.each_cons(2).all? { |a, b| a < b }
end

ActiveRecord::Base.establish_connection(adapter: "postgresql", database: ENV["PGDATABASE"])
ActiveRecord::Migration.verbose = false
$sent = []
ActiveSupport::Notifications.subscribe("sql.active_record") { |*, payload| $sent << payload[:sql] }

def value(sql)
  ActiveRecord::Base.connection.select_value(sql)
end

#page
CreateMessages.new.migrate(:up)
check "no sequence is made", value("SELECT count(*) FROM pg_class WHERE relkind = 'S'") == 0

class ApplicationRecord < ActiveRecord::Base
  self.abstract_class = true
end

class Message < ApplicationRecord
  has_many :replies
end

class Reply < ApplicationRecord
  belongs_to :message
end

$sent.clear
#page
check "an INSERT for one row, and one for many", $sent.grep(/\AINSERT/).size == 2
check "all ids increase", increase([message.id] + ids)
check "... and are those of the rows", Message.order(:id).pluck(:id, :body) == ([message.id] + ids).zip(%w[hello a b])
reply = message.replies.create!
check "a foreign key refers to the id", Reply.find(reply.id).message == message
#page
check "ids that were drawn before are those of the rows", Message.where(body: %w[c d]).order(:id).pluck(:id, :body) == ids.zip(%w[c d])
#page
check "JSON has all digits as text", JSON.parse(Message.first.to_json)["id"] == Message.first.id.to_s

# db/schema.rb, loaded into another database.
dumped = StringIO.new
if ActiveRecord.version >= Gem::Version.new("7.2")
  ActiveRecord::SchemaDumper.dump(ActiveRecord::Base.connection_pool, dumped)
else
  ActiveRecord::SchemaDumper.dump(ActiveRecord::Base.connection, dumped)
end
schema = dumped.string
check "schema.rb has the default", schema.include?('create_table "messages", id: :bigint, default: -> { "uid_next()" }')
database = value("SELECT current_database()")

# What goes wrong when it is loaded into a new database, or nil.
define_method(:load_schema) do |text|
  ActiveRecord::Base.connection.execute(%(CREATE DATABASE "#{database}_copy"))
  ActiveRecord::Base.establish_connection(adapter: "postgresql", database: "#{database}_copy")
  begin
    eval(text)
    Message.reset_column_information
    Message.create!(body: "copy").id > 0 ? nil : "no id"
  rescue StandardError => error
    error.message
  ensure
    ActiveRecord::Base.establish_connection(adapter: "postgresql", database: ENV["PGDATABASE"])
    ActiveRecord::Base.connection.execute(%(DROP DATABASE "#{database}_copy" WITH (FORCE)))
  end
end

if schema.include?('create_schema "uidgen"')
  failed = load_schema(schema)
  check "as it is, it cannot be loaded", failed.to_s.include?('schema "uidgen" already exists')
  #page
  dumped = StringIO.new
  ActiveRecord::SchemaDumper.dump(ActiveRecord::Base.connection_pool, dumped)
  schema = dumped.string
else
  check "only schema.rb of Rails 7.1 and later names schemas", ActiveRecord.version < Gem::Version.new("7.1")
end
failed = load_schema(schema)
check "schema.rb can be loaded#{failed && ": #{failed}"}", failed.nil?

# db/structure.sql.
tasks = ActiveRecord::Tasks::PostgreSQLDatabaseTasks.new(ActiveRecord::Base.connection_db_config)
tasks.structure_dump("structure.sql", [])
structure = File.read("structure.sql")
check "structure.sql has the extension, and not its schema", structure =~ /CREATE EXTENSION.* uidgen/ && structure !~ /CREATE SCHEMA/
check "... and the default", structure.include?("DEFAULT public.uid_next()")
